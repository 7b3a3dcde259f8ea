"""What the molecule scenarios do with a deployed stack: as an agent host, as a person at the view, and as bad luck."""
