"""Shared code of importers: CSV with the place of every fault, stated facts, a run's records."""
