"""The hosts during a run: their connections, their locks, and which hosts are away."""
