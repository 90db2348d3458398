"""Whether TCP would reach a target rate over a longer path, judged by records of a short path."""
