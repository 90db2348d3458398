"""The plan of a run folder: which cells are to be measured, and what makes two plans differ."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from netlab.experiment.matrix import Link
from netlab.experiment.records import SCHEMA, Value, check_schema
from netlab.experiment.stopping import StopRule
from netlab.version import VERSION

_FORMAT = "netlab-run"
_ABSENT = object()
_UNTIL = tuple(field.name for field in fields(StopRule))


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """One cell of a plan, as plain data."""

    key: str
    pairing: str
    test: str
    settings: Mapping[str, Value]
    repeats: int | None = None
    """Its trials, where they are another number than the plan's, and fixed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run folder is for."""

    title: str
    content: Mapping[str, Any]
    """What makes two matrices the same, as plain JSON data."""
    content_hash: str
    matrix_text: str
    """The matrix as its author wrote it; empty for an import."""
    link: Link | None
    cells: tuple[PlannedCell, ...]
    repeats: int
    """Trials of a cell; with ``until`` the most of them."""
    until: StopRule | None = None
    """When the cells without ``repeats`` of their own have had enough."""
    source: str | None = None
    """The document that the records were imported from."""

    def rule_of(self, cell: PlannedCell) -> int | StopRule:
        """How often a cell is measured."""
        return cell.repeats or self.until or self.repeats

    def most_of(self, cell: PlannedCell) -> int:
        """The most trials that a cell may come to."""
        return cell.repeats or self.repeats


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
        "link": plan.link and _link_data(plan.link),
        "repeats": plan.repeats,
        "until": plan.until and asdict(plan.until),
    }
    header = {name: value for name, value in header.items() if value is not None}
    cells = [_cell_data(cell) for cell in plan.cells]
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
    link, until = data.get("link"), data.get("until")
    try:
        plan = Plan(
            title=data["title"],
            content=data["content"],
            content_hash=data["content_hash"],
            matrix_text=matrix_text,
            link=_link(link) if link else None,
            cells=tuple(
                PlannedCell(c["key"], c["pairing"], c["test"], c["settings"], c.get("repeats"))
                for c in data["cells"]
            ),
            repeats=data["repeats"],
            until=StopRule(**{name: until[name] for name in _UNTIL}) if until else None,
            source=data.get("source"),
        )
        return plan, data["created_at"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"a field is missing or of the wrong type: {error}") from None


def _link_data(link: Link) -> dict[str, Any]:
    data = {"rate_bit_per_s": link.rate_bit_per_s, "mtu_bytes": link.mtu_bytes, "vlan": link.vlan}
    return data | ({"hops": link.hops} if link.hops else {})


def _link(data: Mapping[str, Any]) -> Link:
    return Link(data["rate_bit_per_s"], data["mtu_bytes"], data["vlan"], data.get("hops", 0))


def _cell_data(cell: PlannedCell) -> dict[str, Any]:
    data = {"key": cell.key, "pairing": cell.pairing, "test": cell.test}
    own = {} if cell.repeats is None else {"repeats": cell.repeats}
    return {**data, **own, "settings": dict(cell.settings)}


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
    if there.until != here.until:
        found.append(f"until: {there.until or 'nothing'} there, {here.until or 'nothing'} here")
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
