"""Builds the probe's binary: for this machine, for other systems, for a release."""
