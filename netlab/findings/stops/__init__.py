"""Trials in which data stopped: those that stand with it, and those measured again. Pure."""
