"""Benchmarks of the time that commands and pages take, and of their memory."""
