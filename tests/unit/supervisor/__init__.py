"""Tests of `telebrowser.supervisor`."""
