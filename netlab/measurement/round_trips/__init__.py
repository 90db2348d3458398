"""Round trips between two hosts: alone, with a connection for each, and beside a load."""
