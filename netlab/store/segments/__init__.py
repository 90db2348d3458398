"""Segments: closed parts of a journal as Parquet files, and an index of the trials in them."""
