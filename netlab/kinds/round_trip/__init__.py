"""The kinds of test ``round_trip`` and ``connect``: requests, and the answers of a mirror."""
