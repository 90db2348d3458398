"""Comparing: two runs, or the cells of one, aligned cell by cell and judged."""
