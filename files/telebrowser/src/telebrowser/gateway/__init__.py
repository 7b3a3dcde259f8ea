"""The gateway: the only listening port. It knows tokens, projects, sessions and who owns which tab, and relays CDP."""
