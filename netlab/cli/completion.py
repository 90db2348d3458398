"""What a shell may complete: hosts of the inventory, pairings, kinds of test and cells."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

INVENTORY = Path("lab.yaml")
"""Where `netlab init` writes it, and `measure` looks for it."""


def host_names(context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    """Hosts of ``--hosts``, or of ``lab.yaml``."""
    from netlab.config.inventory import load_inventory
    from netlab.errors import NetlabError

    try:
        hosts = load_inventory(Path(context.params.get("hosts") or INVENTORY)).hosts
    except NetlabError:
        return []
    return _beginning(begun, (host.name for host in hosts))


def chosen_words(context: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """Pairings and kinds of test of the matrix, or of the run, on the command line; for ``--redo``
    its cells and ``failed`` as well.
    """
    from netlab.config.matrix_file import load_matrix
    from netlab.config.shipped import matrix_file
    from netlab.errors import NetlabError
    from netlab.experiment.matrix import expand

    # An option whose value is still being written leaves the arguments unread.
    unread = (word for word in context.args if not word.startswith("-"))
    known = (context.params.get(name) for name in ("matrix", "folder"))
    given = next(filter(None, known), None) or next(unread, None)
    if given is None:
        return []
    matrix = Path(given)
    if matrix.is_dir():
        matrix /= "matrix.yaml"
    try:
        hosts = context.params.get("hosts")
        cells = expand(load_matrix(matrix_file(matrix), None, hosts))
    except NetlabError:
        return []
    words = [word for cell in cells for word in (cell.pairing, cell.test)]
    if parameter.name == "redo":
        words += ["failed", *(cell.key for cell in cells)]
    # Of a list only the last word is being written.
    before, comma, last = begun.rpartition(",")
    return [before + comma + word for word in _beginning(last, dict.fromkeys(words))]


def _beginning(begun: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.casefold().startswith(begun.casefold())]
