"""Findings about other traffic on the interfaces of measured streams."""
