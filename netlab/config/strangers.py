"""Hosts that a matrix names and an inventory does not have: each at its place, with the nearest."""

from __future__ import annotations

from collections.abc import Iterator

from netlab.config.document import Document, KeyPath, did_you_mean, load_document
from netlab.errors import Fault, MatrixError
from netlab.experiment.hosts import Inventory
from netlab.experiment.matrix import Matrix
from netlab.experiment.pairings import is_by_name, role_of, roles_of


def refuse_strangers(matrix: Matrix, inventory: Inventory) -> None:
    """MatrixError for hosts and networks that the matrix's text names and the inventory lacks."""
    faults = [*strangers_in(load_document(matrix.text, matrix.file), inventory)]
    if faults:
        raise MatrixError(faults)


def strangers_in(document: Document, inventory: Inventory) -> Iterator[Fault]:
    """A fault for each host or network in ``pairings:`` and ``observe:`` that is not there."""
    for path, role in _named(document):
        try:
            word = role_of(role)
        except ValueError:
            continue  # said by the model
        host = next((each for each in inventory.hosts if each.name == word.host), None)
        if host is None:
            names = [each.name for each in inventory.hosts]
            message = f"no host of {inventory.file} is called `{word.host}`"
            yield document.fault(path, message + _among(word.host, names))
        elif word.network is not None and word.network not in host.addresses:
            message = f"{host.name} has no address in `{word.network}`"
            yield document.fault(path, message + _among(word.network, list(host.addresses)))


def _among(word: str, names: list[str]) -> str:
    return did_you_mean(word, names) or f"; there are {', '.join(names) or 'none'}"


def _named(document: Document) -> Iterator[tuple[KeyPath, str]]:
    """Each role that is written by name, with its place."""
    said = document.data.get("pairings")
    between = said.get("between") if isinstance(said, dict) else None
    for index, pairing in enumerate(said if isinstance(said, list) else []):
        if isinstance(pairing, str) and is_by_name(pairing):
            try:
                yield from ((("pairings", index), str(role)) for role in roles_of(pairing))
            except ValueError:
                continue
    for index, role in enumerate(between if isinstance(between, list) else []):
        yield ("pairings", "between", index), str(role)
    observed = document.data.get("observe")
    for index, name in enumerate(observed if isinstance(observed, list) else []):
        yield ("observe", index), str(name)
