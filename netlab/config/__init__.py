"""Reads YAML into an experiment: the matrix, the inventory, their checks and their schema."""
