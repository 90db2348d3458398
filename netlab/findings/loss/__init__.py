"""Where a stream lost messages: in which of its two hosts, or on the path. Pure."""
