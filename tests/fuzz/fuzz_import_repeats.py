"""The importer ``repeats``: a run folder whose frame can be made, or every fault with its place."""

from __future__ import annotations

from importing import import_one


def one_input(data: bytes) -> None:
    import_one("repeats", data)
