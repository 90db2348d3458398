"""What a fault left, injected now or stored from an earlier night, and judged by the same test.

A test of tests/faults that ``injects`` has two parts: a function that injects the fault, which
leaves run folders and returns what else is worth knowing (exit codes, printed text), and the test
itself, which judges both. At night the fault is injected; in CI the test judges what is stored
under tests/fixtures/faults, which NETLAB_RECORD_FAULTS=1 writes anew.
"""

from __future__ import annotations

import inspect
import json
import os
import platform
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from fault_runs import FIGURES
from folders import FIXTURES, ROOT

from netlab.findings.analysis import Analysis, load
from netlab.store.journal import encode_line, read_journal
from netlab.store.plan import _checksum, from_text, to_text
from netlab.trial.record import Record, from_json, to_json

STORED = FIXTURES / "faults"
RECORDING = os.environ.get("NETLAB_RECORD_FAULTS") == "1"
SEEN = "outcome.json"
"""File with what an injection returned."""
COMPARED = ("rtt_count", "rtt_min_ns", "sent_messages", "lost_messages")
"""Values of a clean run that tests compare, besides the figures."""
UNREAD = re.compile(
    r"_tcp_(open|begin|end|series|window)_|_histogram|_interface_(window|sent|received|counter)"
    r"|_ip_(frag|reass)|_quota_|_host_(busy|steal|busiest)|_stream_(bytes|cpus)"
    r"|_(user|system|thread)_ns|_send_call|_send_room|_receive_call|_queue_(open|close|looks)"
)
"""Values that no test of a fault looks at."""
READ_FACTS = {"boot_id", "machine_id", "network_id", "kernel"}

Seen = dict[str, Any]
"""What an injection saw beside the run folders, as JSON has it."""


def injects(*needs: str) -> pytest.MarkDecorator:
    """Judge what is stored in CI, and at night what the fault leaves then.

    This mark is the one next to the function: docs/scripts/reliability.py leaves out its cases
    whose identifiers begin with ``recorded``.
    """
    marks = [pytest.mark.night, pytest.mark.alone]
    marks += [pytest.mark.needs(*needs)] if needs else []
    sources = ["recorded", pytest.param("injected", marks=marks)]
    return pytest.mark.parametrize("outcome_of", sources, indirect=True)


@dataclass(frozen=True)
class Outcome:
    """What a fault left."""

    folder: Path
    """Run folders are in it."""
    seen: Seen
    record_property: Callable[[str, object], None] | None
    """``None``: it is stored, and its figures are those of an earlier night."""
    loaded: set[str] = field(default_factory=set)
    """Names of the run folders that the test reads."""

    def __getitem__(self, name: str) -> Any:
        return self.seen[name]

    def load(self, into: str = "out") -> Analysis:
        """A run that it left."""
        self.keep(into)
        return load(self.folder / into)

    def keep(self, into: str) -> None:
        """Store a run that the test reads in another way."""
        if (self.folder / into / "run.json").exists():
            self.loaded.add(into)

    def record(self, name: str) -> Record:
        """A record that the injection returned by ``to_json``."""
        return from_json(self.seen[name])

    def figure(self, text: object, **more: object) -> None:
        """What docs/reliability.md shows in the row of this test."""
        if self.record_property is not None:
            for name, value in {"figure": text, **more}.items():
                self.record_property(name, value)


OutcomeOf = Callable[..., Outcome]
"""Inject a fault, a function whose further parameters are the names of fixtures; or read what is
stored of it."""


@pytest.fixture
def outcome_of(
    request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> Iterator[OutcomeOf]:
    to_store: list[tuple[Outcome, Path]] = []

    def of(inject: Callable[..., Mapping[str, Any]], **arguments: Any) -> Outcome:
        words = [inject.__name__, *(slug(value) for value in arguments.values())]
        stored = STORED / request.path.stem.removeprefix("test_") / "-".join(words)
        if request.param == "recorded":
            return Outcome(stored, json.loads((stored / SEEN).read_text("utf-8")), None)
        names = inspect.signature(inject).parameters
        fixtures = {n: request.getfixturevalue(n) for n in names if n not in arguments}
        seen = json.loads(json.dumps(inject(**fixtures, **arguments)))
        folder: Path = request.getfixturevalue("tmp_path")
        outcome = Outcome(folder, seen, record_property)
        if RECORDING:
            to_store.append((outcome, stored))
        return outcome

    yield of
    for outcome, stored in to_store:
        store(outcome, stored)


def slug(value: object) -> str:
    """A word for the name of a folder."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", str(value)).strip("-")


def record_text(record: Record) -> str:
    """A record as ``Outcome.record`` reads it."""
    values = {name: value for name, value in record.values.items() if not UNREAD.search(name)}
    return to_json(replace(record, values=values))


def store(outcome: Outcome, stored: Path) -> None:
    """Keep what a test judged, without the names and places of this machine."""
    folder = outcome.folder
    shutil.rmtree(stored, ignore_errors=True)
    stored.mkdir(parents=True)
    text = json.dumps(outcome.seen, indent=1, ensure_ascii=False, sort_keys=True)
    (stored / SEEN).write_text(cleaned(text, folder) + "\n", "utf-8")
    for name in sorted(outcome.loaded):
        header, into = folder / name / "run.json", stored / name
        into.mkdir()
        data = json.loads(cleaned(header.read_text("utf-8"), folder))
        data.pop("checksum")
        text = json.dumps({**data, "checksum": _checksum(data)})
        (into / "run.json").write_text(to_text(*from_text(text, "")), "utf-8")
        matrix = header.with_name("matrix.yaml").read_text("utf-8")
        (into / "matrix.yaml").write_text(cleaned(matrix, folder), "utf-8")
        lines, _ = read_journal(header.with_name("journal.jsonl"))
        entries = [json.loads(cleaned(json.dumps(line.data), folder)) for line in lines]
        if into.name == "clean":
            entries = [entry for entry in entries if entry["kind"] in ("journal", "record")]
        for entry in entries:
            thin(entry, is_clean=into.name == "clean")
        texts = (json.dumps(entry, separators=(",", ":")) for entry in entries)
        (into / "journal.jsonl").write_bytes(b"".join(map(encode_line, texts)))


def thin(line: dict[str, Any], *, is_clean: bool) -> None:
    """Take out of a line of a journal what no test looks at, and what names this machine.

    Of a clean run, only the results stay, which those of the faulty run must meet.
    """
    if line["kind"] == "record":
        values: dict[str, Any] = line["values"]
        for name in list(values):
            if UNREAD.search(name) or (is_clean and not name.endswith((*FIGURES, *COMPARED))):
                del values[name]
    elif line["kind"] == "facts":
        facts: dict[str, Any] = line["data"].get("facts", {})
        for name in facts.keys() - READ_FACTS:
            del facts[name]


def cleaned(text: str, folder: Path) -> str:
    """A text without the names and places of this machine."""
    places = {str(folder): "/bench", str(ROOT): "/netlab", str(Path.home()): "/home/ada"}
    for path, number in (("/etc/machine-id", 32), ("/proc/sys/kernel/random/boot_id", 36)):
        file = Path(path)
        if file.exists() and (identity := file.read_text().strip()):
            places[identity] = ("0" * 8 + "-0000-0000-0000-" + "0" * 12)[: number - 36 or None]
    places[platform.release()] = "6.8.0"
    places[platform.node()] = "here"
    for place, word in places.items():
        if len(place) > 2:
            text = text.replace(json.dumps(place)[1:-1], word)
    return text
