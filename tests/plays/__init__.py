"""Roles and playbooks of the collection, played on this machine with the real programs."""
