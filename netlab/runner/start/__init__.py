"""Hosts that no file names yet: asked what they are, written down, and one question of them."""
