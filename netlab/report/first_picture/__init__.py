"""Pictures at the top of the page: records and verdicts → SVG elements, in two widths. No I/O."""
