"""Traffic: what an interface carried beside the streams that were measured over it. Pure."""
