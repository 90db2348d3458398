"""Findings about interrupted and delayed trials, also about trials repeated later."""
