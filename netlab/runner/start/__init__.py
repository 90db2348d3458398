"""For `netlab init` and `netlab measure`: asks hosts for their systems, addresses and links."""
