"""Finds hosts that a matrix names and an inventory lacks, with their places and a suggestion."""

from __future__ import annotations

from collections.abc import Iterator

from netlab.config.document import Document, KeyPath, did_you_mean, load_document
from netlab.errors import Fault, MatrixError
from netlab.experiment.hosts import Inventory
from netlab.experiment.matrix import Matrix
from netlab.experiment.pairings import is_by_name, role_of, roles_of


def refuse_unknown_hosts(matrix: Matrix, inventory: Inventory) -> None:
    """Raise MatrixError for hosts and networks that the matrix names and the inventory lacks."""
    faults = [*unknown_hosts(load_document(matrix.text, matrix.file), inventory)]
    if faults:
        raise MatrixError(faults)


def unknown_hosts(document: Document, inventory: Inventory) -> Iterator[Fault]:
    """A fault for each unknown host or network in ``pairings:`` and ``observe:``."""
    hosts = {host.name: host for host in reversed(inventory.hosts)}
    for path, role in _named(document):
        try:
            word = role_of(role)
        except ValueError:
            continue  # the check of the model reports this fault
        host = hosts.get(word.host)
        if host is None:
            names = [candidate.name for candidate in inventory.hosts]
            message = f"no host of {inventory.file} is called `{word.host}`"
            yield document.fault(path, message + _among(word.host, names))
        elif word.network is not None and word.network not in host.addresses:
            message = f"{host.name} has no address in `{word.network}`"
            yield document.fault(path, message + _among(word.network, list(host.addresses)))


def _among(word: str, names: list[str]) -> str:
    return did_you_mean(word, names) or f"; there are {', '.join(names) or 'none'}"


def _named(document: Document) -> Iterator[tuple[KeyPath, str]]:
    """Each host that is written by name, with its place."""
    pairings = document.data.get("pairings")
    between = pairings.get("between") if isinstance(pairings, dict) else None
    for index, pairing in enumerate(pairings if isinstance(pairings, list) else []):
        if isinstance(pairing, str) and is_by_name(pairing):
            try:
                yield from ((("pairings", index), str(role)) for role in roles_of(pairing))
            except ValueError:
                continue
    for index, role in enumerate(between if isinstance(between, list) else []):
        yield ("pairings", "between", index), str(role)
    names = document.data.get("observe")
    for index, name in enumerate(names if isinstance(names, list) else []):
        yield ("observe", index), str(name)
