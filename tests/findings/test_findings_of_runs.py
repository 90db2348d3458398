"""Findings about recorded runs are the known ones, also after changes of the figures."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from draws import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from made_findings import FOLDER, Figures, figures, kinds_of, lab_report, of_kind, places

from netlab.findings.analysis import Analysis, findings, load
from netlab.findings.finding import Kind
from netlab.report.text.findings import RunIndex, sentence
from netlab.report.text.summary import all_findings, leading, sentences_of
from netlab.store.plan import StatedDuration, StatedFacts


@pytest.fixture(scope="module")
def run() -> Analysis:
    return load(FOLDER)


def test_every_kind_of_finding_is_documented_with_its_severity() -> None:
    text = (FOLDER.parent.parent / "docs" / "findings.md").read_text("utf-8")
    documented: dict[str, str] = {}
    for kinds, severities in re.findall(r"^\| (`[^|]*`) \| ([a-z, ]*) \|", text, re.M):
        names = [name.strip(" `") for name in kinds.split(",")]
        words = [word.strip() for word in severities.split(",")]
        documented |= dict(zip(names, words * len(names), strict=False))
    assert documented == {str(kind): kind.severity for kind in Kind}


def check_the_explanations(
    run: Analysis, names: Mapping[str, str], outliers: set[tuple[str, int]]
) -> None:
    """All findings of the lab report, and no others of these kinds."""
    run_findings = run.findings
    ll, wl, lw, ww = (names.get(pairing, pairing) for pairing in ("LL", "WL", "LW", "WW"))
    assert places(run, of_kind(run_findings, Kind.DEVIATION_CELL)) == outliers
    assert places(run, of_kind(run_findings, Kind.DEVIATION_STEP)) == {
        (f"{ll} UDP 1500", 60),
        (f"{ll} UDP 1500", 64),
    }
    full = [
        finding
        for finding in of_kind(run_findings, Kind.WIRE_CEILING)
        if str(finding.group) == f"{ll} UDP 64"
    ]
    assert {size for _, size in places(run, full)} == {16, 20, 24, 28, 36, 40, 44}
    assert places(run, of_kind(run_findings, Kind.UNEXPLAINED_FALL)) == {
        (f"{ll} UDP 64", size) for size in (48, 52, 56, 60, 64)
    }
    (options,) = of_kind(run_findings, Kind.NO_TIMESTAMPS)
    assert (str(options.group), len(options.cells)) == (f"{lw} TCP 65536", 13)
    assert [str(finding.group) for finding in of_kind(run_findings, Kind.LINK_FAR_BELOW)] == [ww]
    unrepeated = of_kind(run_findings, Kind.CANNOT_TELL)
    pairs = [{finding.group.pairing, finding.words["against"]} for finding in unrepeated]
    assert {wl, ll} in pairs
    assert all(finding.evidence["n"] == 1 for finding in unrepeated)


def test_the_recorded_lab_report_has_exactly_the_known_findings(run: Analysis) -> None:
    check_the_explanations(run, {}, {("WL UDP 1500", 60), ("WL UDP 64512", 24)})


def test_each_outlier_of_the_lab_report_states_the_mean_with_and_without_the_outlier(
    run: Analysis,
) -> None:
    first, second = of_kind(run.findings, Kind.DEVIATION_CELL)
    mbit_per_s = {name: round(value / 1e6, 2) for name, value in first.evidence.items()}
    assert (mbit_per_s["throughput_bit_per_s"], mbit_per_s["mean"], mbit_per_s["median"]) == (
        1.89,
        84.82,
        92.38,
    )
    assert (mbit_per_s["mean_without"], mbit_per_s["expected"]) == (92.36, 92.38)
    assert round(second.evidence["mean_without"] / 1e6, 2) == 96.17
    assert first.severity == "warning"


def test_the_lab_report_states_the_wire_ceiling_and_the_unexplained_fall_of_small_messages(
    run: Analysis,
) -> None:
    (story,) = [text for text in leading(run) if text.startswith("LL UDP 64:")]
    assert "within 2 % of 49.23 Mbit/s, in 7 of 13 cells" in story
    assert "up to 44 KiB, except 32 KiB" in story
    assert "falls from 48.49 Mbit/s to 41.58 Mbit/s at socket buffers of 48 KiB" in story
    assert "nothing recorded explains it" in story


def test_tcp_of_a_windows_client_is_reported_as_consistent_with_no_timestamps(
    run: Analysis,
) -> None:
    (finding,) = of_kind(run.findings, Kind.NO_TIMESTAMPS)
    text = sentence(finding, RunIndex(run))
    assert text.startswith("LW TCP 65536: 95.00 Mbit/s is consistent with TCP without timestamps")
    assert "ceiling 94.93 Mbit/s; with timestamps 94.15 Mbit/s); the TCP options are not" in text


def test_a_comparison_of_pairings_with_one_trial_per_cell_has_no_verdict(run: Analysis) -> None:
    (comparison,) = [
        finding
        for finding in of_kind(run.findings, Kind.CANNOT_TELL)
        if (finding.group.pairing, finding.group.protocol, finding.words["against"])
        == ("WL", "TCP", "LL")
    ]
    text = sentence(comparison, RunIndex(run))
    assert text.startswith("WL against LL, TCP: no verdict, because each cell has one trial")
    assert "+0.02 to +1.19 Mbit/s" in text
    assert text in " ".join(leading(run)), "it is the closest of all comparisons"


def test_the_summary_of_the_lab_report_has_three_to_five_sentences_with_warnings_first(
    run: Analysis,
) -> None:
    sentences = leading(run)
    assert 3 <= len(sentences) <= 5
    assert sentences[0].startswith("WW: at most 0.24 Mbit/s, 0.25 % of what the link of 100")
    assert sentences[1].startswith("2 outliers: WL UDP 1500 at 60 KiB: 1.89 Mbit/s, its neighbours")
    assert "mean 84.82 Mbit/s, 92.36 Mbit/s without outliers, median 92.38" in sentences[1]
    assert "WL UDP 64512 at 24 KiB: 56.31 Mbit/s, its" in sentences[1]
    assert any("11 s to 19 s instead of 10 s" in text for text in sentences)


def test_durations_that_a_document_states_are_reported_with_their_source(run: Analysis) -> None:
    run_findings = of_kind(run.findings, Kind.OFF_TIME)
    assert [finding.group.pairing for finding in run_findings] == ["LW", "WW"]
    assert all(finding.words["source"].endswith("section 4.3") for finding in run_findings)
    assert of_kind(findings(lab_report()), Kind.OFF_TIME) == []


def test_every_finding_has_a_line_in_the_table_of_findings(run: Analysis) -> None:
    part = all_findings(run)
    assert part is not None
    (sheet,) = part.details
    assert len(sheet.lines) == min(len(run.findings), 200)
    assert all(len(line.places) == 3 and all(p.text for p in line.places) for line in sheet.lines)
    of_cells = sentences_of(run)
    (outlier,) = [k for k in of_cells if k.startswith("WL-stream-udp-1500-61440")]
    assert any("is an outlier" in text for text in of_cells[outlier])


def test_means_over_fewer_cells_and_missing_cells_are_reported(run: Analysis) -> None:
    fewer = {
        str(finding.group): (finding.evidence["cells"], finding.evidence["most_cells"])
        for finding in of_kind(run.findings, Kind.FEWER_CELLS)
    }
    assert fewer == {
        "WL UDP 1500": (12, 13),
        "WL UDP 64512": (11, 13),
        "LW UDP 64512": (7, 13),
        "WW TCP 65536": (4, 13),
    }
    missing_counts = {
        str(e.group): e.evidence["cells"] for e in of_kind(run.findings, Kind.NO_RESULT_CELLS)
    }
    assert missing_counts == {"WL UDP": 3, "LW UDP": 6, "WW TCP": 9, "WW UDP": 52}


def moved(columns: Figures, column_key: tuple[str, str, int], figure: float, to: int) -> Figures:
    """The same figures, with one of them moved to another socket buffer of its series."""
    column = list(columns[column_key])
    at = column.index(figure)
    column[at], column[to] = column[to], column[at]
    return {**columns, column_key: column}


@settings(max_examples=drawn(4, 100))  # each is a whole run
@given(
    st.permutations(["LL", "WL", "LW", "WW"]),
    st.sampled_from([0.01, 0.1, 0.37, 1.0, 10.0, 400.0]),
    st.integers(0, 11),
    st.integers(2, 12),
)
def test_the_findings_hold_for_other_pairings_link_rates_and_positions_of_outliers(
    order: list[str], scale: float, first: int, second: int
) -> None:
    names = dict(zip(["LL", "WL", "LW", "WW"], order, strict=True))
    columns = moved(figures(), ("WL", "UDP", 1500), 1.89, first)
    columns = moved(columns, ("WL", "UDP", 64512), 56.31, second)
    altered_run = lab_report(columns, names=names, scale=scale)
    wl = names["WL"]
    outliers = {(f"{wl} UDP 1500", 16 + 4 * first), (f"{wl} UDP 64512", 16 + 4 * second)}
    check_the_explanations(altered_run, names, outliers)
    assert 3 <= len(leading(altered_run)) <= 5


def test_findings_of_the_lab_report_disappear_without_their_evidence() -> None:
    of_the_link = {
        *(
            Kind.WIRE_CEILING,
            Kind.UNEXPLAINED_FALL,
            Kind.NO_TIMESTAMPS,
            Kind.LINK_FAR_BELOW,
            Kind.FRAGMENTED,
        ),
        *(Kind.ABOVE_WIRE_RATE, Kind.OFF_TIME),
    }
    assert kinds_of(findings(lab_report(link=False))) & of_the_link == set()
    options_run = lab_report(extra_values={"tcp_timestamps": False, "mss_bytes": 1460})
    assert Kind.NO_TIMESTAMPS not in kinds_of(findings(options_run))
    few = {column_key: column[:4] for column_key, column in figures().items()}
    shape = {Kind.DEVIATION_CELL, Kind.DEVIATION_STEP, Kind.UNEXPLAINED_FALL}
    assert kinds_of(findings(lab_report(few))) & shape == set()
    empty: Figures = {column_key: [None] * 13 for column_key in figures()}
    assert kinds_of(findings(lab_report(empty))) == {Kind.NO_RESULT_CELLS}
    assert leading(lab_report(empty)) != ()


@given(st.data())
def test_missing_figures_make_no_outlier_of_the_other_figures(data: st.DataObject) -> None:
    column_key = ("LL", "UDP", 576)
    column = figures()[column_key]
    flags = data.draw(st.lists(st.booleans(), min_size=13, max_size=13))
    sparse_column = [value if flag else None for value, flag in zip(column, flags, strict=True)]
    run_findings = findings(lab_report({column_key: sparse_column}))
    assert (
        kinds_of(run_findings)
        & {Kind.DEVIATION_CELL, Kind.DEVIATION_STEP, Kind.UNEXPLAINED_FALL, Kind.LINK_FAR_BELOW}
        == set()
    )


def test_in_the_run_connection_kinds_only_one_bridge_exceeds_the_ceiling_or_is_asymmetric() -> None:
    run = load(FOLDER.parent / "connection-kinds")
    assert [str(finding.group) for finding in of_kind(run.findings, Kind.ABOVE_WIRE_RATE)] == [
        "linux+colinux-winpcap-bridge UDP"
    ]
    assert [str(finding.group) for finding in of_kind(run.findings, Kind.ONE_WAY)] == [
        "linux+colinux-winpcap-bridge TCP"
    ]
    sentences = leading(run)
    assert sentences[0].startswith("linux+colinux-winpcap-bridge UDP: 3.2 % above the wire ceiling")
    assert "Of 50 cells, these have no result: 12, the imported document" in sentences[2]


def test_the_recorded_nettest_streams_are_at_the_wire_ceiling_without_a_warning() -> None:
    run = load(FOLDER.parent / "nettest")
    assert [finding for finding in run.findings if finding.severity == "warning"] == []
    assert [str(finding.group) for finding in of_kind(run.findings, Kind.WIRE_CEILING)] == [
        "LL TCP 1448",
        "LL UDP 1472",
    ]


def test_stated_durations_near_the_requested_duration_are_not_reported() -> None:
    def said(longest_s: float) -> StatedFacts:
        return StatedFacts(
            durations=(
                StatedDuration(
                    pairings=(), asked_s=10, shortest_s=10, longest_s=longest_s, source="page 1"
                ),
            )
        )

    assert of_kind(findings(lab_report(statements=said(10.01))), Kind.OFF_TIME) == []
    assert len(of_kind(findings(lab_report(statements=said(11))), Kind.OFF_TIME)) == 4
