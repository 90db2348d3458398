"""Reads YAML into an inventory: hosts and named pairs; and finds hosts that an inventory lacks."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from netlab.config.document import (
    Document,
    KeyPath,
    content_of,
    did_you_mean,
    load_document,
    validate,
)
from netlab.errors import Fault, MatrixError, UsageError
from netlab.experiment.hosts import (
    LOOPBACK,
    OS_NAMES,
    Host,
    Inventory,
    Mirror,
    Service,
    is_by_name,
    local_os,
    parse_ssh,
    role_of,
    roles_of,
)


def load_inventory(path: Path) -> Inventory:
    """The inventory in the ``hosts:`` and ``pairs:`` of an inventory file or a matrix."""
    return _inventory_of(content_of(path), path)


@lru_cache(maxsize=2)
def _inventory_of(content: bytes, path: Path) -> Inventory:
    """The inventory in the content of a file. Kept, because several steps of a command read it."""
    from netlab.config.inventory_model import InventoryModel

    document = load_document(content, str(path))
    if "hosts" not in document.data:
        is_matrix = "tests" in document.data or "pairings" in document.data
        complaint = "is a matrix and has no `hosts:`" if is_matrix else "has no `hosts:`"
        raise UsageError(
            f"{path} {complaint}; name the inventory with --hosts FILE (docs/hosts.md)"
        )
    model = validate(document, InventoryModel)
    hosts = tuple(_host_of(name, host_model) for name, host_model in model.hosts.items())
    pairs = {pairing: (pair.server, pair.client) for pairing, pair in model.pairs.items()}
    keys = ("hosts", "pairs")
    faults = [
        document.fault((key,), f"not a key of an inventory{did_you_mean(key, keys)}", at_key=True)
        for key in document.data
        if key not in keys and "tests" not in document.data
    ]
    faults += _wrong_pairs(document, hosts, pairs)
    if faults:
        raise MatrixError(faults)
    return Inventory(str(path), hosts, pairs)


def _wrong_pairs(
    document: Document, hosts: tuple[Host, ...], pairs: Mapping[str, tuple[str, str]]
) -> Iterator[Fault]:
    by_name = {host.name: host for host in hosts}
    for pairing, pair in pairs.items():
        place = ("pairs", pairing)
        if not re.fullmatch(f"[{''.join(OS_NAMES)}]{{2}}", pairing):
            message = f"not a pairing: write two of the letters {', '.join(OS_NAMES)}, such as WL"
            yield document.fault(place, message, at_key=True)
            continue
        for role, letter, name in zip(("server", "client"), pairing, pair, strict=True):
            host = by_name.get(name)
            if host is None:
                message = f"no host is called {name!r}; there are {', '.join(sorted(by_name))}"
                yield document.fault((*place, role), message)
            elif host.os != letter:
                message = (
                    f"the {role} of {pairing} needs `os: {letter}`, but {name} has `os: {host.os}`"
                )
                yield document.fault((*place, role), message)
        server, client = (by_name.get(name) for name in pair)
        if client is not None and not client.has_agent:
            message = f"{client.name} {client.why_never_client}"
            yield document.fault((*place, "client"), message)
        if pair[0] == pair[1]:
            yield document.fault(place, "server and client are the same host: name two hosts")
        elif server and client and server.machine and server.machine == client.machine:
            message = f"{pair[0]} and {pair[1]} have the same `machine: {server.machine}`"
            yield document.fault(place, message)


def _host_of(name: str, model: Any) -> Host:
    """A host from its model, with the defaults that are known without contacting the host."""
    usual_addresses = {} if model.mirror or model.serves else {"loopback": LOOPBACK}
    as_written = ("local", "machine", "port_range", "host_key", "identity", "shares", "site")
    return Host(
        name=name,
        os=model.os or local_os(),
        ssh=None if model.ssh is None else parse_ssh(model.ssh),
        addresses=model.addresses or usual_addresses,
        mirror=model.mirror and Mirror(model.mirror.address, model.mirror.port),
        serves={name: Service(*place) for name, place in model.serves.items()},
        **{key: getattr(model, key) for key in as_written},
    )


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
            wrong, names = word.host, [candidate.name for candidate in inventory.hosts]
            message = f"no host of {inventory.file} is called `{wrong}`"
        elif word.network is not None and word.network not in host.addresses:
            wrong, names = word.network, [*host.addresses]
            message = f"{host.name} has no address in `{wrong}`"
        else:
            continue
        near = did_you_mean(wrong, names) or f"; there are {', '.join(names) or 'none'}"
        yield document.fault(path, message + near)


def _named(document: Document) -> Iterator[tuple[KeyPath, str]]:
    """Each host that is written by name, with its place."""
    pairings = document.data.get("pairings")
    between = pairings.get("between") if isinstance(pairings, dict) else None
    for index, pairing in enumerate(pairings if isinstance(pairings, list) else []):
        if isinstance(pairing, str) and is_by_name(pairing):
            with contextlib.suppress(ValueError):
                yield from ((("pairings", index), str(role)) for role in roles_of(pairing))
    for index, role in enumerate(between if isinstance(between, list) else []):
        yield ("pairings", "between", index), str(role)
    names = document.data.get("observe")
    for index, name in enumerate(names if isinstance(names, list) else []):
        yield ("observe", index), str(name)
