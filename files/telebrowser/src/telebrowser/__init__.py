"""Real browsers for coding agents on a headless box."""

__version__ = "0.1.0"
