"""A run as read from its folder: its table, columns, figures and their names."""
