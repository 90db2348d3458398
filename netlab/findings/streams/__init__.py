"""Streams: what limited them, by what their records show. Pure."""
