"""Hosts against hosts: which one, which way, or which pair is slower or farther. Pure."""
