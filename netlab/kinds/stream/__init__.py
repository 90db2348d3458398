"""The kind of test ``stream``: messages one way, or both ways at once."""
