"""The report in other languages. Pure."""
