"""Tests of `telebrowser.local`."""
