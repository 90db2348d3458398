"""Findings: a run's records → typed statements about it, each with its evidence. Pure."""
