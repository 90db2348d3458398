"""Other tools as engines: each is one file here, and is run by the agents of the two hosts."""
