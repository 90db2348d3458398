"""Searches: whose limit the highest rate and the largest payload are, by their records. Pure."""
