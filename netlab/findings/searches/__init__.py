"""Findings about searches: what limits the highest rate and the largest payload. Pure."""
