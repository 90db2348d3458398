"""A login over SSH: the configuration, the byte stream, the keys of hosts and of users."""
