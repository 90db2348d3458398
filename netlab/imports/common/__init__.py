"""Shared code of the importers: it reads CSV tables and files of facts, and writes run folders."""
