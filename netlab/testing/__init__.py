"""netlab in pytest: runs as fixtures, and their expectations as tests."""
