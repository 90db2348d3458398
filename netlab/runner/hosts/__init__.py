"""The hosts of a run while it lasts: their connections, their locks, and those that are away."""
