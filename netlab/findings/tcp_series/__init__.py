"""Findings from the state of TCP over time."""
