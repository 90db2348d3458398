"""Findings about the times of round trips and connections."""
