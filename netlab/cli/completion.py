"""Shell completion: hosts of the inventory, pairings, kinds of test and cells."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

INVENTORY = Path("lab.yaml")
"""The inventory that `netlab init` writes and `measure` looks for."""


def host_names(context: click.Context, _parameter: click.Parameter, prefix: str) -> list[str]:
    """Names of the hosts in the file of ``--hosts``, or in ``lab.yaml`` without that option."""
    from netlab.config.inventory import load_inventory
    from netlab.errors import NetlabError

    try:
        hosts = load_inventory(Path(context.params.get("hosts") or INVENTORY)).hosts
    except NetlabError:
        return []
    return _beginning(prefix, (host.name for host in hosts))


def chosen_words(context: click.Context, parameter: click.Parameter, prefix: str) -> list[str]:
    """Pairings and kinds of test in the matrix or the run that the command line names.

    For ``--redo``, also the keys of the cells, and ``failed``.
    """
    from netlab.config.matrix_file import load_matrix
    from netlab.config.shipped import matrix_file
    from netlab.errors import NetlabError
    from netlab.experiment.matrix import expand

    # While an option's value is being typed, click has not parsed the arguments.
    unread = (word for word in context.args if not word.startswith("-"))
    options = (context.params.get(name) for name in ("matrix", "folder"))
    source = next(filter(None, options), None) or next(unread, None)
    if source is None:
        return []
    matrix = Path(source)
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
    # In a list, only the last word is being typed.
    head, comma, last = prefix.rpartition(",")
    return [head + comma + word for word in _beginning(last, dict.fromkeys(words))]


def _beginning(prefix: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.casefold().startswith(prefix.casefold())]
