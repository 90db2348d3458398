"""Findings about searches for the highest rate and for the largest payload."""
