"""What TCP would do at a distance: what was recorded on a short path, held against a longer one."""
