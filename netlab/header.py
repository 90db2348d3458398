"""The plan of a run folder: which cells are to be measured, and what makes two plans differ."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from netlab.records import SCHEMA, Value, check_schema
from netlab.version import VERSION

_FORMAT = "netlab-run"
_ABSENT = object()


class LinkLike(Protocol):
    """A link as the plan needs it; the matrix's own is one."""

    @property
    def rate_bit_per_s(self) -> float:
        """Of the line, layer 1 without the line code."""

    @property
    def mtu_bytes(self) -> int:
        """Largest IP packet."""

    @property
    def vlan(self) -> bool:
        """Whether frames carry an 802.1Q tag."""


@dataclass(frozen=True, slots=True)
class Link:
    """The cable between the hosts, for the wire ceilings."""

    rate_bit_per_s: float
    mtu_bytes: int
    vlan: bool = False


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """One cell of a plan, as plain data."""

    key: str
    pairing: str
    test: str
    settings: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run folder is for."""

    title: str
    content: Mapping[str, Any]
    """What makes two matrices the same, as plain JSON data."""
    content_hash: str
    matrix_text: str
    """The matrix as its author wrote it; empty for an import."""
    link: LinkLike | None
    cells: tuple[PlannedCell, ...]
    repeats: int
    source: str | None = None
    """The document that the records were imported from."""


def to_text(plan: Plan, created_at: str) -> str:
    """The plan as run.json: all but the matrix's text, with a checksum over the rest."""
    header: dict[str, Any] = {
        "format": _FORMAT,
        "schema": SCHEMA,
        "netlab": VERSION,
        "created_at": created_at,
        "title": plan.title,
        "source": plan.source,
        "content_hash": plan.content_hash,
        "content": plan.content,
        "link": plan.link
        and {
            "rate_bit_per_s": plan.link.rate_bit_per_s,
            "mtu_bytes": plan.link.mtu_bytes,
            "vlan": plan.link.vlan,
        },
        "repeats": plan.repeats,
    }
    header = {name: value for name, value in header.items() if value is not None}
    cells = [
        {"key": c.key, "pairing": c.pairing, "test": c.test, "settings": dict(c.settings)}
        for c in plan.cells
    ]
    header["checksum"] = _checksum({**header, "cells": cells})
    # One line a cell: people look into this file, and compare two of them.
    head = json.dumps(header, indent=1, allow_nan=False)
    body = ",\n".join("  " + json.dumps(cell, allow_nan=False) for cell in cells)
    return f'{head[:-2]},\n "cells": [\n{body}\n ]\n}}\n'


def from_text(text: str, matrix_text: str) -> tuple[Plan, str]:
    """The plan in a run.json, and when the folder was made. ValueError with a sentence."""
    data = json.loads(text)
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise ValueError("not the header of a netlab run")
    check_schema(data.get("schema"))
    checksum = data.pop("checksum", None)
    if checksum != _checksum(data):
        raise ValueError("its checksum does not agree: it was damaged, or changed by hand")
    link = data.get("link")
    try:
        plan = Plan(
            title=data["title"],
            content=data["content"],
            content_hash=data["content_hash"],
            matrix_text=matrix_text,
            link=Link(link["rate_bit_per_s"], link["mtu_bytes"], link["vlan"]) if link else None,
            cells=tuple(
                PlannedCell(c["key"], c["pairing"], c["test"], c["settings"]) for c in data["cells"]
            ),
            repeats=data["repeats"],
            source=data.get("source"),
        )
        return plan, data["created_at"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"a field is missing or of the wrong type: {error}") from None


def _checksum(data: Mapping[str, Any]) -> str:
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def plan_differences(there: Plan, here: Plan) -> list[str]:
    """In words, path by path, why two plans are not the same; empty where they are.

    The content decides. Where it is the same, the cells made of it must be as well.
    """
    found = list(differences(_plain(there.content), _plain(here.content)))
    if found:
        return found
    if there.repeats != here.repeats:
        found.append(f"repeats: {there.repeats} there, {here.repeats} here")
    old, new = ({cell.key for cell in plan.cells} for plan in (there, here))
    if old != new:
        found.append(
            f"cells: {len(old - new)} only there, {len(new - old)} only here, "
            "though the matrix is the same: the folder was made by another version of netlab"
        )
    return found


def differences(there: object, here: object, path: str = "") -> Iterator[str]:
    """``tests[0].duration_s: 10 there, 1 here``, for every place where two JSON values differ."""
    if isinstance(there, dict) and isinstance(here, dict):
        for key in sorted({*there, *here}):
            where = f"{path}.{key}" if path else str(key)
            yield from differences(there.get(key, _ABSENT), here.get(key, _ABSENT), where)
    elif isinstance(there, list) and isinstance(here, list) and _nested(there, here):
        for index in range(max(len(there), len(here))):
            old, new = (side[index] if index < len(side) else _ABSENT for side in (there, here))
            yield from differences(old, new, f"{path}[{index}]")
    elif there != here or isinstance(there, bool) != isinstance(here, bool):
        yield f"{path or 'the whole'}: {_show(there)} there, {_show(here)} here"


def _nested(there: list[object], here: list[object]) -> bool:
    """Whether to look inside: lists of plain values read better side by side."""
    return any(isinstance(each, dict | list) for each in (*there, *here))


def _show(value: object) -> str:
    if value is _ABSENT:
        return "nothing"
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _plain(content: Mapping[str, Any]) -> Any:
    """As it comes back from a file: tuples are lists, keys are text."""
    return json.loads(json.dumps(content))
