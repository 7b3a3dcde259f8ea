"""Pages for people: what an agent asks of them, and what the browsers are doing. A listener of its own, never the agents' one."""
