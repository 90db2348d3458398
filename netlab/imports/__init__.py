"""Results from elsewhere: files in, a run folder out."""
