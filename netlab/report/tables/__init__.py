"""Tables and charts as plain nouns: what the report shows, before anything is drawn. Pure."""
