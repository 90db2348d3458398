"""A run from its plan to its last record: its steps, its session, and its hosts during the run."""
