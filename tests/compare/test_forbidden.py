"""`expect: no …` forbids kinds of findings, and findings that cannot be judged are never a pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from made_streams import stream, stream_run

from netlab.cli import cli
from netlab.compare.check import NOT_LOOKED_FOR, Checked, FindingSentence, FindingSentences, check
from netlab.config.matrix_file import expectations_in, load_matrix
from netlab.errors import ExpectationError, IncompleteRun, MatrixError
from netlab.findings.analysis import Analysis
from netlab.findings.catalogue import expect_words, words_of
from netlab.findings.finding import Kind
from netlab.report.text.findings import finding_sentences
from netlab.results.run import Run
from netlab.testing.live_run import RunUnderTest

MATRIX = """\
link: {rate: 100Mbit}
pairings: [LL]
tests: [{test: stream, protocol: TCP, message_size: [64, 1448]}]
expect:
  - """
KINDS = ("outlier", "step", "facts-changed")


def run_expecting(
    path: Path, expect: str, figures: tuple[float | None, ...] = (94.1, 94.1)
) -> Analysis:
    cells = [(stream(size=size), figures) for size in (64, 1448)]
    return stream_run(path, *cells, matrix_text=f"{MATRIX}{expect}\n")


def check_with(run: Run, *findings_of_cells: tuple[str, str, tuple[int, ...]]) -> Checked:
    """Check a run with invented findings: kind, severity, indices of cells."""
    keys = [cell.key for cell in run.plan.cells]
    findings = FindingSentences(
        KINDS,
        [
            FindingSentence(kind, severity, tuple(keys[index] for index in cells), f"{kind} it is.")
            for kind, severity, cells in findings_of_cells
        ],
    )
    return check(run, say=lambda _: findings)


def verdicts(checked: Checked) -> list[tuple[str, str]]:
    return [(judgement.label, judgement.verdict) for judgement in checked.judgements]


def test_a_cell_without_forbidden_findings_meets_the_expectation(tmp_path: Path) -> None:
    run = run_expecting(tmp_path / "a", "no: warning")
    checked = check_with(run, ("step", "note", (0,)))
    assert checked.met
    assert {judgement.words for judgement in checked.judgements} == {"2 trials"}
    checked = check_with(run, ("outlier", "warning", (0,)), ("step", "note", (1,)))
    assert [judgement.verdict for judgement in checked.judgements] == ["not met", "met"]
    assert checked.judgements[0].words == "outlier it is. (outlier)"
    assert "no warning: 1 met, 1 not met" in checked.as_text()
    with pytest.raises(ExpectationError):
        checked.raise_for_unmet()


def test_each_forbidden_kind_of_finding_is_judged_as_a_separate_expectation(
    tmp_path: Path,
) -> None:
    run = run_expecting(tmp_path / "a", "no: [step, outlier]")
    checked = check_with(run, ("step", "note", (1,)))
    words = [(str(judgement.expectation), judgement.verdict) for judgement in checked.judgements]
    assert words == [
        ("no step", "met"),
        ("no step", "not met"),
        ("no outlier", "met"),
        ("no outlier", "met"),
    ]


def test_a_finding_about_a_host_counts_only_if_the_expectation_is_for_every_cell(
    tmp_path: Path,
) -> None:
    outcome = check_with(
        run_expecting(tmp_path / "a", "no: warning"), ("facts-changed", "warning", ())
    )
    assert verdicts(outcome)[0] == ("the run", "not met")
    assert not outcome.met
    some = "{no: warning, when: {message_size: 64}}"
    part = check_with(run_expecting(tmp_path / "b", some), ("facts-changed", "warning", ()))
    assert part.met and len(part.judgements) == 1


def test_an_expectation_that_forbids_findings_judges_only_its_selected_cells(
    tmp_path: Path,
) -> None:
    run = run_expecting(tmp_path / "a", "{no: warning, unless: {message_size: 64}}")
    assert check_with(run, ("outlier", "warning", (0,))).met
    assert not check_with(run, ("outlier", "warning", (1,))).met


def test_a_forbidden_finding_cannot_be_judged_if_a_trial_has_no_result(
    tmp_path: Path,
) -> None:
    run = run_expecting(tmp_path / "a", "no: step", (94.1, None))
    checked = check_with(run)
    assert {judgement.verdict for judgement in checked.judgements} == {"cannot be judged"}
    assert checked.judgements[0].words == "1 of 2 trials without a result"
    with pytest.raises(IncompleteRun):
        checked.raise_for_unmet()
    unasked = check(run_expecting(tmp_path / "b", "no: step"))
    assert {judgement.words for judgement in unasked.judgements} == {NOT_LOOKED_FOR}
    assert not unasked.met


@pytest.mark.parametrize(
    ("expectation", "fault"),
    [
        ("no: warnings", "5:9: expect[0].no: `warnings` is not a kind of finding; did you mean"),
        ("no: [step, otlier]", "5:16: expect[0].no[1]: `otlier` is not a kind of finding; did you"),
        ("no: zebra", "`zebra` is not a kind of finding; docs/findings.md lists them"),
        ("no: []", "5:9: expect[0].no: forbids nothing"),
        ("no: [step, step]", "names the same word twice"),
        ("no: 5", "5: should be `warning`, `note` or a kind of finding"),
        ("no: {kind: step}", "should be `warning`, `note` or a kind of finding"),
        ("when: {protocol: TCP}", "expects nothing: give one of throughput, loss, round_trip,"),
        ("{no: step, when: {protocol: UDP}}", "expect[0].no: applies to no cell"),
    ],
)
def test_a_matrix_that_forbids_an_unknown_kind_of_finding_is_refused_with_the_place(
    tmp_path: Path, expectation: str, fault: str
) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(f"{MATRIX}{expectation}\n")
    with pytest.raises(MatrixError) as excinfo:
        load_matrix(file, kinds=expect_words())
    assert fault in str(excinfo.value)


def test_netlab_plan_and_netlab_check_refuse_an_unknown_forbidden_kind(tmp_path: Path) -> None:
    run = run_expecting(tmp_path / "run", "no: otlier")
    for words in (["check", str(run.path)], ["plan", str(run.path / "matrix.yaml")]):
        outcome = CliRunner().invoke(cli, words)
        assert isinstance(outcome.exception, MatrixError)
        assert "5:9: expect[0].no: `otlier` is not a kind of finding" in str(outcome.exception)


def test_forbidden_findings_do_not_change_the_hash_of_the_matrix(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(MATRIX.removesuffix("expect:\n  - "))
    plain = load_matrix(file)
    file.write_text(f"{MATRIX}no: [warning, trend]\n")
    matrix = load_matrix(file, kinds=expect_words())
    assert plain.content_hash == matrix.content_hash
    assert [str(expectation) for expectation in matrix.expectations] == ["no warning", "no trend"]
    assert expectations_in(matrix.text, "m.yaml", expect_words()) == matrix.expectations


def test_netlab_check_and_the_pytest_plugin_compute_the_findings_of_a_run(tmp_path: Path) -> None:
    clean = run_expecting(tmp_path / "a", "no: [warning, wire-ceiling]")
    kinds = {finding.kind for finding in finding_sentences(clean).findings}
    assert kinds  # TCP in messages of 1448 bytes at 94.1 Mbit/s is at its ceiling.
    checked = RunUnderTest(clean.path).check()
    assert {judgement.verdict for judgement in checked.judgements} == {"met", "not met"}
    outcome = CliRunner().invoke(cli, ["check", str(clean.path)])
    assert isinstance(outcome.exception, ExpectationError)
    assert "(wire-ceiling)" in outcome.stdout


def test_a_forbidden_kind_is_named_with_or_without_its_value() -> None:
    assert words_of(Kind.CPU_WAIT_SENDER_PROGRAMS) == ("cpu-wait", "cpu-wait/sender-programs")
    assert words_of(Kind.ONE_WAY) == ("one-way",)


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        ("interface", "not met"),
        ("interface/duplex", "not met"),
        ("interface/speed", "met"),
    ],
)
def test_an_expectation_with_a_value_forbids_only_the_kind_with_this_value(
    tmp_path: Path, word: str, verdict: str
) -> None:
    run = run_expecting(tmp_path / "a", f"no: {word}")
    kind = Kind.INTERFACE_DUPLEX
    cells = tuple(cell.key for cell in run.plan.cells)
    made = FindingSentence(str(kind), kind.severity, cells, "It is.", words_of(kind))
    checked = check(run, say=lambda _: FindingSentences(expect_words(), [made]))
    assert {judgement.verdict for judgement in checked.judgements} == {verdict}
    assert f"no {word}: " in checked.as_text()
