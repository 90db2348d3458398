"""Measures one trial: Trial → requests to two probes → Record. One module per kind of test."""
