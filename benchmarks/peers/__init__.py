"""netlab's probe beside the field's tools."""
