"""Tables in other formats: text, Markdown, CSV, LaTeX. No I/O."""
