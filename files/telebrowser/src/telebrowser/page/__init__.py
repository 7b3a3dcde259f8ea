"""The engine proper: what a tab is, and how an agent reads and drives it."""
