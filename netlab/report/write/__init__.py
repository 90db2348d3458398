"""Tables in other formats: text, Markdown, CSV, LaTeX. Pure."""
