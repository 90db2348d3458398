"""A run → the lines of the first screen: results of each test, comparisons, warnings."""
