"""Pictures at the top of the page: readings and verdicts → SVG elements, in two widths. No I/O."""
