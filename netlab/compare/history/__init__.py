"""Histories: the same cell over many runs, with its change points, and a run against a history."""
