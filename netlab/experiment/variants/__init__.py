"""Variants: named states of the hosts' own settings, as an axis. Pure."""
