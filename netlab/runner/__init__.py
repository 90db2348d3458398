"""A run from its plan to its last record: the spine, the session, and the hosts while it lasts."""
