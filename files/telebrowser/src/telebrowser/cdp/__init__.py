"""The Chrome DevTools Protocol, raw: transports, connections, sessions. Nothing about pages."""
