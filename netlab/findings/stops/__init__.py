"""Findings about interrupted and delayed trials, including trials repeated since. Pure."""
