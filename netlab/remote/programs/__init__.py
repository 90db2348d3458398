"""Programs that an agent runs on its host, and its undo log."""
