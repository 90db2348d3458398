"""A run read back: its table, its columns, its figures and how they are named."""
