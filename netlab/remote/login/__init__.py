"""A login over SSH: the configuration, ways for bytes, keys of hosts and of persons."""
