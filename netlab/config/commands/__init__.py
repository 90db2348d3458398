"""Sections of a matrix with commands that run on the hosts: mirrors and variants."""
