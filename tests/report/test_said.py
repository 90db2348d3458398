"""Programs get findings as JSON and as sentences."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner
from folders import REPORTS
from made_streams import stream, stream_run

import netlab
from netlab.cli import cli
from netlab.findings.analysis import Analysis, load
from netlab.findings.finding import Group, Kind, finding
from netlab.report.text.findings import RunIndex, finding_sentences, findings_json, sentence
from netlab.report.text.phrases import throughput

RUNS = sorted(path.parent for path in REPORTS.glob("*/run.json"))


@pytest.mark.parametrize("folder", RUNS[:3], ids=lambda path: path.name)
def test_each_finding_in_json_has_its_kind_evidence_and_sentence(folder: Path) -> None:
    run = netlab.load(folder)
    objects = json.loads(findings_json(run))
    assert len(objects) == len(run.findings) > 0
    index = RunIndex(run)
    keys = {cell.key for cell in run.plan.cells}
    for item, original in zip(objects, run.findings, strict=True):
        assert [*item] == [
            *(("kind", "value") if original.value else ("kind",)),
            *("severity", "about", "cells", "trials", "evidence", "words"),
            *(("claim",) if original.claim else ()),
            *("sentence", "advice"),
        ]
        assert (item["kind"], item.get("value", "")) == (original.kind.name, original.value)
        assert item["severity"] == original.kind.severity
        assert item["sentence"] == original.sentence == sentence(original, index)
        assert item["sentence"].endswith(".")
        assert {*item["cells"]} <= keys
        assert all(isinstance(value, int | float) for value in item["evidence"].values())
        assert None not in item["about"].values()
    severities = [item["severity"] for item in objects]
    assert severities == sorted(severities, reverse=True)


def test_the_json_of_a_finding_leaves_out_absent_subjects_and_infinite_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stream_run(tmp_path / "a", (stream(), (94.0,)))
    group = Group("LL", "TCP", None, "", (("streams", 4),))
    cell = run.plan.cells[0].key
    figures = {"cells": 1.0, "most": math.inf}
    short = finding(Kind.FEWER_CELLS, group, (cell,), figures, {}, ((cell, 2),))
    monkeypatch.setattr(Analysis, "findings", (short,))
    (item,) = json.loads(findings_json(run))
    assert item["about"] == {"pairing": "LL", "protocol": "TCP", "settings": {"streams": 4}}
    assert item["evidence"] == {"cells": 1.0}
    assert item["trials"] == [{"cell": cell, "trial": 2}]


def test_a_run_without_findings_gives_an_empty_json_array(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Analysis, "findings", ())
    assert findings_json(stream_run(tmp_path / "a", (stream(), (94.0,)))) == b"[]\n"


def test_netlab_load_adds_sentences_to_the_findings_and_changes_no_finding() -> None:
    bare, with_sentences = load(RUNS[0]), netlab.load(RUNS[0])
    assert all(item.sentence for item in with_sentences.findings)
    assert not any(item.sentence for item in bare.findings)
    assert bare.findings == with_sentences.findings
    every = finding_sentences(bare)
    sentences = [item.sentence for item in with_sentences.findings]
    assert [item.sentence for item in every.findings] == sentences
    assert {item.kind for item in every.findings} <= {*every.kinds}


def test_report_json_prints_or_writes_the_findings_and_makes_no_report(tmp_path: Path) -> None:
    run = stream_run(tmp_path / "run", (stream(), (94.0, 94.1)))
    names = sorted(path.name for path in run.path.iterdir())
    outcome = CliRunner().invoke(cli, ["report", str(run.path), "--json"])
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout_bytes == findings_json(run)
    file = tmp_path / "findings.json"
    words = ["report", str(run.path), "--json", "-o", str(file)]
    assert CliRunner().invoke(cli, words).exit_code == 0
    assert file.read_bytes() == outcome.stdout_bytes
    assert sorted(path.name for path in run.path.iterdir()) == names


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--output", "x.json"], "--output is only for --json"),
        (["--json", "--lang", "de"], "--lang, --narrow and --watch are for the report"),
        (["--json", "--narrow"], "--lang, --narrow and --watch are for the report"),
        (["--json", "--watch"], "--lang, --narrow and --watch are for the report"),
        (["--lang", "tlh"], "is not one of"),
    ],
)
def test_the_report_command_refuses_contradictory_options_and_unknown_languages(
    tmp_path: Path, words: list[str], message: str
) -> None:
    run = stream_run(tmp_path / "run", (stream(), (94.0,)))
    outcome = CliRunner().invoke(cli, ["report", str(run.path), *words])
    assert outcome.exit_code != 0
    assert message in f"{outcome.output}{outcome.exception}"


@pytest.mark.parametrize(
    ("rate_bit_per_s", "text"),
    [
        (94.1e6, "94.10 Mbit/s"),
        (999.994e6, "999.99 Mbit/s"),
        (999.996e6, "1.000 Gbit/s"),
        (4554.6e6, "4.555 Gbit/s"),
    ],
)
def test_a_throughput_in_a_sentence_has_the_unit_of_the_tables(
    rate_bit_per_s: float, text: str
) -> None:
    assert throughput(rate_bit_per_s) == text
