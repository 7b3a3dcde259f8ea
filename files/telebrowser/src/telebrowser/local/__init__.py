"""Everything on one machine: the embedded stack, and the standalone mode."""
