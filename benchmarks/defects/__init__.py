"""Planted defects: a list of small faults over all packages and the probe, and what finds them."""
