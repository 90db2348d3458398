"""netlab inside pytest: a run as a fixture, and what is expected of it as tests."""
