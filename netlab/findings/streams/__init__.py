"""The bottleneck of each stream, as its records show it."""
