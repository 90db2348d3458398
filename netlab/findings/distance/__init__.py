"""TCP at a distance: whether what was recorded on a short path is enough for a longer one."""
