"""The kind of test ``throughput_search``: the highest rate without loss (RFC 2544)."""
