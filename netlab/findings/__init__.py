"""Findings: a run's records → what may be said about it, in typed statements. Pure."""
