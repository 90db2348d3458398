"""Variants: named states of the hosts' own settings, as an axis of a matrix. No I/O."""
