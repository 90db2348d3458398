"""What surrounds a trial of a session: the pause before it, the states of its hosts."""
