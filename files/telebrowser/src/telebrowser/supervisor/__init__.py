"""Starts, watches and stops one Chromium per project. Standard library only."""
