"""A table of any form with the map of its columns: the two, with a line of dashes between them."""

from __future__ import annotations

from importing import import_one

BETWEEN = b"\n----\n"


def one_input(data: bytes) -> None:
    columns, _, table = data.partition(BETWEEN)
    import_one("table", table, columns=columns)
