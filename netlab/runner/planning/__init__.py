"""Planning before a run: the chosen cells, whether each can be measured, and the duration."""
