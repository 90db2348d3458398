"""Findings in sentences. Pure."""
