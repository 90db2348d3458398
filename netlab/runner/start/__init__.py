"""Asks hosts for `netlab init`, which writes an inventory of them, and for `netlab measure`."""
