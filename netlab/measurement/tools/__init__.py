"""Measuring with other tools, which the agents of the two hosts start: one file per tool."""
