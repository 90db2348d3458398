"""Draws charts: axes, bars, maps, pictures; only this package uses matplotlib."""
