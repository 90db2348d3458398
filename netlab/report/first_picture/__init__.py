"""The first screen's picture: readings and judged comparisons → marks, for two widths. Pure."""
