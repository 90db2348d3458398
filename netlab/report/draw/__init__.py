"""Charts drawn: axes, bars, maps, pictures. All that knows matplotlib."""
