"""TCP over a longer path: whether the records of a short path show that TCP would fill it."""
