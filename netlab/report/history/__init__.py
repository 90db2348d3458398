"""The history of cells over many runs, as a table, charts, text, CSV, JSON and an HTML page."""
