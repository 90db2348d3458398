"""Round trips between two hosts: alone, with a new connection for each, and during a load."""
