"""Benchmarks that compare netlab's probe with other tools."""
