"""Computes findings from a run's records: typed statements about the run, with their evidence.

Only ``analysis.load`` reads files.
"""
