"""Findings about a mesh: which host, direction or pair is slower or farther than others. Pure."""
