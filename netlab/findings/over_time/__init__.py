"""Findings about changes within a run or a trial: drift, warm-up, periodic dips."""
