"""A kind of finding can be added with public names only."""

from __future__ import annotations

import ast
import copy
import pickle
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from string import Formatter

import pytest
from folders import FIXTURES, ROOT
from made_findings import BUFFERS, clean, of_kind

from netlab.findings.analysis import load
from netlab.findings.finding import Finding, finding
from netlab.findings.kind import KINDS, Kind, note, warning
from netlab.findings.series import Series
from netlab.messages import Message, _
from netlab.report import write_report
from netlab.report.text import findings as words
from netlab.report.text.findings import _COUNTED, _OF_SEVERAL
from netlab.report.text.summary import all_findings, leading, sentences_of


def too_even(series: Iterable[Series]) -> Iterator[Finding]:
    """A rule that finds something in every series."""
    for one_series in series:
        figures = {"throughput_bit_per_s": 94.05e6, "guess_share": 0.5, "mtu_bytes": None}
        cells = tuple(point.cell for point in one_series.measured)
        yield finding(Kind.TOO_EVEN, one_series.group, cells, figures, {"suspect": "the cat"})


SAID = "LL TCP 1500: the cat made up 50 % of 94.05 Mbit/s."


@pytest.fixture
def added() -> Iterator[None]:
    warning(
        "too-even",
        _("{suspect} made up {mtu_bytes}"),
        _("{suspect} made up {guess_share} of {throughput_bit_per_s}"),
        rule=too_even,
        rank=0,
        advice=_("look at the cat"),
    )
    yield
    del KINDS["too-even"]


@pytest.mark.usefixtures("added")
def test_an_added_kind_of_finding_appears_in_findings_summary_and_table() -> None:
    run = clean()
    (added_finding,) = of_kind(run.findings, Kind.TOO_EVEN)
    assert (added_finding.severity, added_finding.advice, len(added_finding.cells)) == (
        "warning",
        "look at the cat",
        8,
    )
    assert run.findings[0] is added_finding, "warnings first"
    assert leading(run)[0] == SAID
    assert all(SAID in sentence for sentence in sentences_of(run).values())
    assert len(sentences_of(run)) == len(BUFFERS)
    part = all_findings(run)
    assert part is not None
    line = part.details[0].lines[0]
    texts = [place.text for place in line.places]
    assert line.label == "LL TCP 1500"
    assert texts == [
        "warning",
        "The cat made up 50 % of 94.05 Mbit/s.",
        "Look at the cat.",
    ]
    assert all(isinstance(text, Message) for text in (line.label, *texts, leading(run)[0]))


@pytest.mark.usefixtures("added")
def test_an_added_kind_of_finding_appears_on_the_page(tmp_path: Path) -> None:
    shutil.copytree(FIXTURES / "run-v1", tmp_path / "run")
    page = write_report(load(tmp_path / "run")).read_text("utf-8")
    assert "the cat made up 50 % of 94.05 Mbit/s." in page
    assert "Look at the cat." in page


def test_a_second_kind_of_finding_with_a_used_name_is_refused() -> None:
    with pytest.raises(ValueError, match="called interface/duplex already"):
        note("interface/duplex", advice=_("nothing"))
    with pytest.raises(AttributeError, match="NONE_SUCH"):
        _kind = Kind.NONE_SUCH
    assert "too-even" not in [*Kind]


def test_a_kind_of_finding_equals_its_name_as_text_and_survives_copying_and_pickling() -> None:
    assert Kind.ONE_WAY == "one-way" == str(Kind.ONE_WAY) == f"{Kind.ONE_WAY}"
    assert copy.deepcopy(Kind.ONE_WAY) is Kind.ONE_WAY
    assert pickle.loads(pickle.dumps(Kind.ONE_WAY)) is Kind.ONE_WAY  # noqa: S301


def test_a_kind_of_finding_without_a_sentence_is_stated_by_its_name() -> None:
    bare = Kind("odd-thing", "note", advice=_("look"))
    (first, *_others) = clean().findings
    assert words.statement(finding(bare, first.group)) == "finding odd-thing"


def test_every_placeholder_in_a_finding_sentence_is_a_name_that_the_rules_contain() -> None:
    """An unknown name in braces would drop the text silently."""
    rules = (ROOT / "netlab" / "findings").rglob("*.py")
    trees = [ast.parse(path.read_text("utf-8")) for path in rules]
    constants = {
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    names = constants | {*words._OF_CELLS, *words._OF_FINDING, *_OF_SEVERAL, *_COUNTED}
    for kind in Kind:
        for text in (*kind.says, *kind.shown):
            assert {field[1] for field in Formatter().parse(text) if field[1]} <= names, kind
