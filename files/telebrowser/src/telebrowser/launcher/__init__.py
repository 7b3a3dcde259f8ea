"""What runs on the agent's side: the way to the gateway, and the pump between stdio and the engine."""
