"""The table as Arrow and Parquet: segments, and columns for them. Needs pyarrow."""
