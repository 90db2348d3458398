"""Answers: a run → what it found, a line a test; what its comparisons came to; its warnings."""
