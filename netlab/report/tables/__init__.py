"""Tables and charts of the report as plain data, before anything is drawn. No I/O."""
