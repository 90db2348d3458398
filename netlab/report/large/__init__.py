"""The report of a run with very many trials: means, heat maps and findings from its segments."""
