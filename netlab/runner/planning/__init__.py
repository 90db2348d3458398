"""Before a run: which cells are chosen, what becomes of each, how long it takes."""
