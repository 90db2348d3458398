"""Comparisons of two runs, or of the cells of one run, and checks of expectations."""
