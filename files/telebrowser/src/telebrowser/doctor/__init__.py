"""Checks of this machine and of the way to the gateway, and a live one with a real browser."""
