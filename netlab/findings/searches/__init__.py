"""Findings about searches: the limits of the highest rate and of the largest payload. Pure."""
