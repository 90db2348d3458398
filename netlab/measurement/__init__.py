"""Measures one trial: Trial → requests to two probes → Record, with one module per kind of test."""
