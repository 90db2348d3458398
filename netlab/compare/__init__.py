"""Comparing: two runs, or the cells of one, laid beside each other cell by cell and judged."""
