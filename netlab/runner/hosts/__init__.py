"""The hosts of a running run: their connections, their locks, and those that are away."""
