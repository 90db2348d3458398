"""Findings about a mesh: which host, direction or pair is slower than others.

A mesh is several hosts, each measured with the others.
"""
