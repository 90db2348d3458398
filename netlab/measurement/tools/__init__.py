"""Measuring with other tools: one file per tool, which the agents of the two hosts start."""
