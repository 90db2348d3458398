"""Benchmarks that compare netlab's results with what is known to be true."""
