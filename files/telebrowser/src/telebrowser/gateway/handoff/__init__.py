"""Handoffs: an agent asks for a person, a person does the step in the very same browser, and the agent goes on."""
