"""Hosts without an inventory: `netlab init` asks and writes them, `netlab measure` tests two."""
