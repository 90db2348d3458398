"""Computes findings from a run's records: typed statements about the run, with their evidence.

A cell is one combination of pairing (server and client), test and settings. A trial is one
execution of a cell, and a record holds its result. Only ``analysis.load`` reads files.
"""
