"""Commands that measure netlab itself: `make benchmark-NAME`."""
