"""TCP over a longer path: whether TCP would fill it, according to records of a short path."""
