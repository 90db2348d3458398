"""Makes the lines at the top of the page: results of each test, comparisons, warnings."""
