"""What a person waits for, and what a host or a page costs."""
