"""What is too long for CI, as rows of one table: `make nightly`, `make weekly`."""
