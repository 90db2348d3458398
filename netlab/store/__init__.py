"""The run folder: its plan, its journal, its lock, its status."""
