"""The kind of test ``latency_under_load``: round trips while streams fill the path."""
