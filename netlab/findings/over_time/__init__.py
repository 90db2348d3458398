"""Over the time of a run and of a trial: drift, warm-up, dips with a period. Pure."""
