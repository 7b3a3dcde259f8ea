"""The benchmark: the product beside its peers, in speed, memory and outcomes. `make bench` runs it."""
