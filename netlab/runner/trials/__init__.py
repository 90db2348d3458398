"""The pause before a trial of a session, and the states of the hosts during the trial."""
