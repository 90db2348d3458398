"""The plan of a run folder: the cells to measure, differences of two plans, and stated facts.

Stated facts are those that an imported document states in addition to its table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from typing import Any, TypeVar

from netlab.ethernet import Link
from netlab.experiment.cells import Cell
from netlab.experiment.matrix import LongPath, Matrix, StopRule, sorted_json
from netlab.trial.record import SCHEMA, Value, check_schema, check_text, refuse_constant
from netlab.version import VERSION

_FORMAT = "netlab-run"
_ABSENT = object()
_MAX_TRIALS = 10**6
_LARGEST = 2**53
_CELLS = '\n "cells": [\n'
"""Where the cells begin in a run.json: its last part."""
FieldType = TypeVar("FieldType")
SettingsCheck = Callable[[str, Mapping[str, Value]], None]


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """One cell of a plan (a pairing, a test and its settings), as plain data."""

    key: str
    pairing: str
    test: str
    settings: Mapping[str, Value]
    repeats: int | None = None
    """A fixed number of trials (repetitions) of this cell; ``None``: the plan's number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The cells that a run measures, and its conditions."""

    title: str
    content: Mapping[str, Any]
    """The content that decides whether two matrices are the same, as plain JSON data."""
    content_hash: str
    matrix_text: str
    """The matrix as its author wrote it; empty for an import."""
    link: Link | None
    cells: tuple[PlannedCell, ...]
    repeats: int
    """Number of trials of a cell; if there is a rule ``until``, their maximum number."""
    until: StopRule | None = None
    """The rule that ends the trials of the cells without ``repeats`` of their own."""
    target: LongPath | None = None
    """A longer path; the findings estimate whether TCP would fill it. Plans that differ only in
    their target count as the same."""
    source: str | None = None

    def rule_of(self, cell: PlannedCell) -> int | StopRule:
        """The number of trials of a cell, or the rule that ends them."""
        return cell.repeats or self.until or self.repeats

    def most_of(self, cell: PlannedCell) -> int:
        """Maximum number of trials of a cell."""
        return cell.repeats or self.repeats


def plan_of(matrix: Matrix, cells: tuple[Cell, ...]) -> Plan:
    """The plan of a run folder: the cells of a matrix and how often each is measured."""
    planned = []
    for cell in cells:
        fixed, repeats = matrix.until_of(cell) is None, matrix.repeats_of(cell)
        own = fixed and (matrix.until is not None or repeats != matrix.repeats)
        planned.append(
            PlannedCell(
                key=cell.key,
                pairing=cell.pairing,
                test=cell.test,
                settings=dict(cell.settings),
                repeats=repeats if own else None,
            )
        )
    return Plan(
        title=matrix.title,
        content=matrix.content,
        content_hash=matrix.content_hash,
        matrix_text=matrix.text,
        link=matrix.link,
        cells=tuple(planned),
        repeats=matrix.repeats,
        until=matrix.until,
        target=matrix.target,
    )


class PlannedTrials(Container[object]):
    """Every (cell, trial) that a plan may require."""

    def __init__(self, plan: Plan) -> None:
        self._most = {cell.key: plan.most_of(cell) for cell in plan.cells}

    def __contains__(self, trial: object) -> bool:
        match trial:
            case (str(cell), int(number)):
                return 1 <= number <= self._most.get(cell, 0)
        return False


def to_text(plan: Plan, created_at: str) -> str:
    """The plan as run.json: everything except the matrix's text, with a checksum."""
    header: dict[str, Any] = {
        "format": _FORMAT,
        "schema": SCHEMA,
        "netlab": VERSION,
        "created_at": created_at,
        "title": plan.title,
        "source": plan.source,
        "content_hash": plan.content_hash,
        "content": plan.content,
        "link": plan.link and plan.link.content(),
        "repeats": plan.repeats,
        "until": plan.until and asdict(plan.until),
        "target": plan.target and asdict(plan.target),
    }
    header = {name: value for name, value in header.items() if value is not None}
    cells = []
    for cell in plan.cells:
        own = {} if cell.repeats is None else {"repeats": cell.repeats}
        data = {"key": cell.key, "pairing": cell.pairing, "test": cell.test, **own}
        cells.append({**data, "settings": dict(cell.settings)})
    header["checksum"] = _checksum({**header, "cells": cells}, sorted_json(cells))
    # One line per cell, because people read such files and compare them.
    head = json.dumps(header, indent=1, allow_nan=False)
    body = ",\n".join("  " + json.dumps(cell, allow_nan=False) for cell in cells)
    return f"{head[:-2]},{_CELLS}{body}\n ]\n}}\n"


@dataclass(frozen=True, slots=True)
class _ReadCells:
    """The cells of a run.json that was read."""

    text: str
    """The end of the file, with the cells."""
    check: SettingsCheck | None
    canonical: str
    cells: tuple[PlannedCell, ...]


_last_read = _ReadCells("", None, "", ())
"""The cells that were read last: nightly runs have the same ones, which share memory and time."""


def from_text(text: str, matrix_text: str, check: SettingsCheck | None = None) -> tuple[Plan, str]:
    """The plan in a run.json, and when the folder was made; ValueError with a sentence for users.

    ``check`` raises ValueError for impossible settings of a test.
    """
    global _last_read  # noqa: PLW0603  (replaced as a whole)
    head, mark, end = text.partition(_CELLS)
    known = _last_read if mark and (end, check) == (_last_read.text, _last_read.check) else None
    data = json.loads(f"{head}{_CELLS}]}}" if known else text, parse_constant=refuse_constant)
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise ValueError("not the header of a netlab run")
    check_schema(data.get("schema"))
    checksum = data.pop("checksum", None)
    canonical = known.canonical if known else sorted_json(data.get("cells"))
    if checksum != _checksum(data, canonical):
        raise ValueError("its checksum does not match: it was damaged, or changed by hand")
    # The checksum detects only accidents. A file from elsewhere may be wrong despite its checksum.
    if known is None:
        cells = []
        for cell in _typed(data, "cells", list):
            key, pairing, test = (_typed(cell, name, str) for name in ("key", "pairing", "test"))
            settings = _typed(cell, "settings", dict)
            own = _count(cell, "repeats") if "repeats" in cell else None
            if check is not None:
                check(test, settings)
            cells.append(PlannedCell(key, pairing, test, settings, own))
        known = _ReadCells(end, check, canonical, tuple(cells))
        _last_read = known if mark else _last_read
    plan = Plan(
        title=_typed(data, "title", str),
        content=_typed(data, "content", dict),
        content_hash=_typed(data, "content_hash", str),
        matrix_text=matrix_text,
        link=_link(_typed(data, "link", dict)) if data.get("link") else None,
        cells=known.cells,
        repeats=_count(data, "repeats"),
        until=_until(_typed(data, "until", dict)) if data.get("until") else None,
        target=_target(_typed(data, "target", dict)) if data.get("target") else None,
        source=_typed(data, "source", str) if "source" in data else None,
    )
    trials = sum(map(plan.most_of, plan.cells))
    if trials > _MAX_TRIALS:
        raise ValueError(f"{trials:,} trials are too many; a run has {_MAX_TRIALS:,} at most")
    if plan.until is not None and plan.until.at_most > plan.repeats:
        raise ValueError(
            f"until.at_most is {plan.until.at_most}, but must be at most repeats, {plan.repeats}"
        )
    return plan, _typed(data, "created_at", str)


def _typed(data: object, name: str, kind: type[FieldType]) -> FieldType:
    """A field of the header; ValueError if it is missing or of another type."""
    value = data.get(name, _ABSENT) if isinstance(data, dict) else _ABSENT
    if type(value) is not kind:
        fault = "is missing" if value is _ABSENT else f"is {_show(value)}"
        raise ValueError(f"a field is missing or of the wrong type: {name} {fault}")
    if isinstance(value, str):
        check_text(value)
    return value


def _count(data: object, name: str, least: int = 1, most: int = _MAX_TRIALS) -> int:
    value = _typed(data, name, int)
    if not least <= value <= most:
        raise ValueError(f"{name} is {_show(value)}, but must be {least} to {most}")
    return value


def _positive(data: object, name: str) -> float:
    is_integer = isinstance(data, dict) and type(data.get(name)) is int
    value = _typed(data, name, int if is_integer else float)
    if not 0 < value < _LARGEST:
        raise ValueError(f"{name} is {_show(value)}, but must be a number above 0")
    return float(value)


def _until(data: object) -> StopRule:
    confidence = _positive(data, "confidence")
    if confidence >= 1:
        raise ValueError(f"confidence is {confidence}, but must be below 1")
    return StopRule(
        within=_positive(data, "within"),
        confidence=confidence,
        at_least=_count(data, "at_least", 2),
        at_most=_count(data, "at_most", 2),
    )


def _target(data: dict[str, Any]) -> LongPath:
    return LongPath(_positive(data, "rtt_s"), _positive(data, "rate_bit_per_s"))


def _link(data: dict[str, Any]) -> Link:
    hops, overhead = (
        _count(data, name, 0, 1 << 20) if name in data else 0 for name in ("hops", "overhead_bytes")
    )
    rate, mtu = _positive(data, "rate_bit_per_s"), _count(data, "mtu_bytes", 1, 1 << 20)
    return Link(rate, mtu, _typed(data, "vlan", bool), hops, overhead)


def _checksum(data: Mapping[str, Any], cells: str | None = None) -> str:
    """Checksum of the canonical text of ``data``; ``cells``: this text of its cells, if known."""
    texts = {name: sorted_json(data[name]) for name in data if name != "cells" or cells is None}
    texts |= {} if cells is None else {"cells": cells}
    parts = (f"{sorted_json(name)}:{texts[name]}" for name in sorted(data))
    return hashlib.sha256(f"{{{','.join(parts)}}}".encode("ascii")).hexdigest()


def plan_differences(folder_plan: Plan, new_plan: Plan) -> list[str]:
    """The differences between two plans in words, path by path; empty if they are the same, or if
    only the sample of the new plan is larger.
    """
    # Equal contents may still have different repeats, rules or cells.
    # As read back from a file: tuples are lists, keys are text.
    contents = [json.loads(json.dumps(plan.content)) for plan in (folder_plan, new_plan)]
    old, new = ({cell.key for cell in plan.cells} for plan in (folder_plan, new_plan))
    if grows := old < new and all("sample" in content for content in contents):
        contents[1]["sample"]["cells"] = contents[0]["sample"]["cells"]
    if sentences := list(differences(*contents)):
        return sentences
    if folder_plan.repeats != new_plan.repeats:
        sentences.append(f"repeats: {folder_plan.repeats} in the folder, {new_plan.repeats} now")
    if folder_plan.until != new_plan.until:
        old_rule, new_rule = folder_plan.until or "nothing", new_plan.until or "nothing"
        sentences.append(f"until: {old_rule} in the folder, {new_rule} now")
    if old != new and not grows:
        sentences.append(
            f"cells: {len(old - new)} only in the folder, {len(new - old)} only now, "
            "though the matrix is the same: another version of netlab made the folder"
        )
    return sentences


def differences(folder_value: object, new_value: object, path: str = "") -> Iterator[str]:
    """Each difference of two JSON values, such as ``repeats: 10 in the folder, 1 now``."""
    if isinstance(folder_value, dict) and isinstance(new_value, dict):
        for key in sorted({*folder_value, *new_value}):
            key_path = f"{path}.{key}" if path else str(key)
            old, new = (side.get(key, _ABSENT) for side in (folder_value, new_value))
            yield from differences(old, new, key_path)
    elif (
        isinstance(folder_value, list)
        and isinstance(new_value, list)
        # Lists of plain values are shown as a whole.
        and any(isinstance(item, dict | list) for item in (*folder_value, *new_value))
    ):
        for index, pair in enumerate(zip_longest(folder_value, new_value, fillvalue=_ABSENT)):
            yield from differences(*pair, f"{path}[{index}]")
    elif folder_value != new_value or isinstance(folder_value, bool) != isinstance(new_value, bool):
        old, new = map(_show, (folder_value, new_value))
        yield f"{path or 'the content'}: {old} in the folder, {new} now"


def _show(value: object) -> str:
    if value is _ABSENT:
        return "nothing"
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."


KEY = "stated"

STATED = "stated"
"""Value of ``when`` in a note of the journal with stated facts of a host."""

FactValue = str | int | float | bool
_FLAT = frozenset((str, int, float, bool))
_LONGEST_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedDuration:
    """The stated durations of trials, in seconds, for one requested duration ``asked_s``."""

    pairings: tuple[str, ...]
    """The pairings that the durations apply to; empty: all pairings."""
    asked_s: float
    shortest_s: float
    longest_s: float
    source: str

    def is_of(self, pairing: str) -> bool:
        """Whether the durations apply to a pairing."""
        return not self.pairings or pairing in self.pairings


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedHost:
    """Stated facts of a host, or of all hosts with one operating system."""

    name: str
    """Name of a host, or the letter of a system."""
    facts: Mapping[str, FactValue]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """A remark of the document in words."""

    text: str
    pairings: tuple[str, ...]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFacts:
    """All facts that a document states in addition to its table."""

    durations: tuple[StatedDuration, ...] = ()
    hosts: tuple[StatedHost, ...] = ()
    remarks: tuple[Remark, ...] = ()

    def data(self) -> dict[str, Any]:
        """The facts as plain JSON data."""
        return asdict(self)

    def strangers(self, pairings: Sequence[str]) -> tuple[str, ...]:
        """The pairings that the facts name and that are not among ``pairings``."""
        facts: tuple[StatedDuration | Remark, ...] = (*self.durations, *self.remarks)
        names = [name for fact in facts for name in fact.pairings]
        return tuple(name for name in dict.fromkeys(names) if name not in pairings)


def stated_facts_of(plan: Plan) -> StatedFacts:
    """The stated facts of a plan, empty if it has none; ValueError if they are malformed."""
    data = plan.content.get(KEY)
    if data is None:
        return StatedFacts()
    try:
        return StatedFacts(
            durations=tuple(
                StatedDuration(**_stated(fact, "asked_s", "shortest_s", "longest_s", "pairings"))
                for fact in data.get("durations", ())
            ),
            hosts=tuple(StatedHost(**_stated(h, "facts", "name")) for h in data.get("hosts", ())),
            remarks=tuple(
                Remark(**_stated(fact, "text", "pairings")) for fact in data.get("remarks", ())
            ),
        )
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(
            f"the facts stated by the document are damaged in the plan: {error}"
        ) from None


def _stated(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The fields with these names, and the source. TypeError with a clause if one is malformed."""
    fields = {name: data[name] for name in (*names, "source")}
    for name, value in fields.items():
        if name.endswith("_s"):
            if type(value) not in (int, float) or not 0 < value < _LONGEST_S:
                raise TypeError(f"{name} is not a time")
        elif name == "facts":
            if not isinstance(value, Mapping) or not {*map(type, value.values())} <= _FLAT:
                raise TypeError(
                    "`facts` is not a mapping in which each value is a text, a number, true or "
                    "false"
                )
        else:
            if name == "pairings" and not isinstance(value, list | tuple):
                raise TypeError(f"{value!r:.60} is not a list")
            texts = tuple(value) if name == "pairings" else (value,)
            for text in texts:
                if not isinstance(text, str):
                    raise TypeError(f"{text!r:.60} is not a text")
            fields[name] = texts if name == "pairings" else value
    return fields
