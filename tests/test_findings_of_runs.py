"""Findings about runs: the recorded lab report's, turned every way, and planted ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netlab.findings import Finding, Kind, findings
from netlab.findings.suspicion import hosts
from netlab.frame import Run, load
from netlab.header import Link, Plan, PlannedCell
from netlab.imported import record_of
from netlab.importer import parse_table
from netlab.records import Record, Status, Value
from netlab.report.finding_words import Speaker, sentence
from netlab.report.sentences import all_findings, leading, sentences_of
from netlab.stated import Stated, StatedDuration
from netlab.stored import Note, StoredRun

FOLDER = Path(__file__).parent.parent / "reports" / "lab-report"
TABLE = FOLDER / "lab-report.csv"
KIB = 1024
CLEAN_MBIT = [94.02, 94.05, 94.01, 94.06, 94.03, 94.04, 94.02, 94.05]
BUFFERS = [size * KIB for size in (16, 20, 24, 28, 32, 36, 40, 44)]
LINK = Link(1e8, 1500)


def run_of(plan: Plan, records: Iterable[Record], notes: Sequence[Note] = ()) -> Run:
    kept = tuple(records)
    return Run(
        StoredRun(
            path=Path("nowhere"),
            plan=plan,
            created_at="",
            records=kept,
            notes=tuple(notes),
            damage=(),
            latest={(record.cell, record.trial): record for record in kept},
            started={},
            unfinished={},
        )
    )


def plan_of(cells: Sequence[PlannedCell], link: Link | None = LINK, **keys: Any) -> Plan:
    fields: dict[str, Any] = {"content": {}, "repeats": 1, "source": None, **keys}
    return Plan(
        title="made up",
        content_hash="0" * 64,
        matrix_text="",
        link=link,
        cells=tuple(cells),
        **fields,
    )


def of_kind(found: Iterable[Finding], *kinds: Kind) -> list[Finding]:
    return [each for each in found if each.kind in kinds]


def kinds_of(found: Iterable[Finding]) -> set[Kind]:
    return {each.kind for each in found}


def places(run: Run, found: Iterable[Finding]) -> set[tuple[str, int]]:
    """Group in words, and the socket buffer of each cell in KiB."""
    by_key = {cell.key: cell for cell in run.plan.cells}
    return {
        (str(each.group), int(str(by_key[cell].settings["socket_buffer_bytes"])) // KIB)
        for each in found
        for cell in each.cells
    }


# The lab report, as it is and turned


Figures = dict[tuple[str, str, int], list[float | None]]


def figures() -> Figures:
    """(pairing, protocol, message size) → Mbit/s by socket buffer, 16 to 64 KiB."""
    found: Figures = {}
    for row in parse_table(TABLE.read_text("utf-8"), "t"):
        column = found.setdefault((row.pairing, row.protocol, row.message_bytes), [])
        column.append(float(row.printed) if row.printed else None)
    return found


def lab_report(
    columns: Figures | None = None,
    *,
    names: Mapping[str, str] | None = None,
    scale: float = 1.0,
    link: bool = True,
    stated: Stated | None = None,
    known: Mapping[str, Value] | None = None,
) -> Run:
    """The recorded run with other figures, other names of its pairings, another link."""
    columns = figures() if columns is None else columns
    cells, records = [], []
    for (pairing, protocol, size), column in columns.items():
        for at, figure in enumerate(column):
            name = (names or {}).get(pairing, pairing)
            buffer_bytes = (16 + 4 * at) * KIB
            cell = PlannedCell(
                f"{name}-{protocol}-{size}-{buffer_bytes}",
                name,
                "stream",
                {
                    "protocol": protocol,
                    "message_bytes": size,
                    "socket_buffer_bytes": buffer_bytes,
                },
            )
            values: dict[str, Value] = {}
            if figure is not None:
                step = {"printed_step_bit_per_s": 1e4 * scale}
                values = {"throughput_bit_per_s": figure * 1e6 * scale, **step, **(known or {})}
            cells.append(cell)
            records.append(record_of(cell, values, printed="x" if values else ""))
    content = {} if stated is None else {"stated": stated.data()}
    rate = Link(1e8 * scale, 1500) if link else None
    return run_of(plan_of(cells, rate, source="lab-report.csv", content=content), records)


@pytest.fixture(scope="module")
def run() -> Run:
    return load(FOLDER)


def check_the_explanations(
    run: Run, names: Mapping[str, str], outliers: set[tuple[str, int]]
) -> None:
    """All that the tables show of the lab report, and nothing else of these kinds."""
    found = findings(run)
    ll, wl, lw, ww = (names.get(pairing, pairing) for pairing in ("LL", "WL", "LW", "WW"))
    assert places(run, of_kind(found, Kind.OUTLIER)) == outliers
    assert places(run, of_kind(found, Kind.STEP)) == {
        (f"{ll} UDP 1500", 60),
        (f"{ll} UDP 1500", 64),
    }
    full = [each for each in of_kind(found, Kind.WIRE_CEILING) if str(each.group) == f"{ll} UDP 64"]
    assert {size for _, size in places(run, full)} == {16, 20, 24, 28, 36, 40, 44}
    assert places(run, of_kind(found, Kind.FALL)) == {
        (f"{ll} UDP 64", size) for size in (48, 52, 56, 60, 64)
    }
    (options,) = of_kind(found, Kind.NO_TIMESTAMPS)
    assert (str(options.group), len(options.cells)) == (f"{lw} TCP 65536", 13)
    assert [str(each.group) for each in of_kind(found, Kind.LINK_FAR_BELOW)] == [ww]
    unrepeated = of_kind(found, Kind.UNREPEATED)
    pairs = [{each.group.pairing, each.words["against"]} for each in unrepeated]
    assert {wl, ll} in pairs
    assert all(each.evidence["n"] == 1 for each in unrepeated)


def test_the_recorded_lab_report_yields_the_true_explanations(run: Run) -> None:
    check_the_explanations(run, {}, {("WL UDP 1500", 60), ("WL UDP 64512", 24)})


def test_each_outlier_stands_with_the_mean_with_and_without_it(run: Run) -> None:
    first, second = of_kind(run.findings, Kind.OUTLIER)
    said = {name: round(value / 1e6, 2) for name, value in first.evidence.items()}
    assert (said["throughput_bit_per_s"], said["mean"], said["median"]) == (1.89, 84.82, 92.38)
    assert (said["mean_without"], said["expected"]) == (92.36, 92.38)
    assert round(second.evidence["mean_without"] / 1e6, 2) == 96.17
    assert first.severity == "warning"


def test_small_messages_are_at_the_wires_limit_and_the_fall_is_not_explained(run: Run) -> None:
    (story,) = [each for each in leading(run) if each.startswith("LL UDP 64:")]
    assert "98 % and more of 49.23 Mbit/s, in 7 of 13 cells" in story
    assert "up to 44 KiB, but for 32 KiB" in story
    assert "from a socket buffer of 48 KiB on it falls from 48.49 Mbit/s to 41.58 Mbit/s" in story
    assert "which the data do not explain" in story


def test_a_windows_clients_tcp_is_consistent_with_no_timestamps(run: Run) -> None:
    (found,) = of_kind(run.findings, Kind.NO_TIMESTAMPS)
    said = sentence(found, Speaker(run))
    assert said.startswith("LW TCP 65536: 95.00 Mbit/s is consistent with no TCP timestamps")
    assert "ceiling 94.93 Mbit/s; 94.15 Mbit/s with them); not recorded." in said


def test_windows_servers_cannot_be_told_from_linux_ones_by_one_trial_each(run: Run) -> None:
    (found,) = [
        each
        for each in of_kind(run.findings, Kind.UNREPEATED)
        if (each.group.pairing, each.group.protocol, each.words["against"]) == ("WL", "TCP", "LL")
    ]
    said = sentence(found, Speaker(run))
    assert said.startswith("WL against LL, TCP: cannot tell, n = 1;")
    assert "+0.02 to +1.19 Mbit/s" in said
    assert said in " ".join(leading(run)), "it is the closest of all comparisons"


def test_what_matters_stands_first_in_three_to_five_sentences(run: Run) -> None:
    said = leading(run)
    assert 3 <= len(said) <= 5
    assert said[0].startswith("WW: nowhere more than 0.24 Mbit/s, 0.253 % of what the link of 100")
    assert "1.89 Mbit/s at a socket buffer of 60 KiB is an outlier" in said[1]
    assert "56.31 Mbit/s at a socket buffer of 24 KiB" in said[1]
    assert any("11 s to 19 s where 10 s were asked for" in each for each in said)


def test_how_long_trials_ran_is_said_where_the_document_does_with_its_source(run: Run) -> None:
    found = of_kind(run.findings, Kind.OFF_TIME)
    assert [each.group.pairing for each in found] == ["LW", "WW"]
    assert all(each.words["source"].endswith("section 4.3") for each in found)
    assert of_kind(findings(lab_report()), Kind.OFF_TIME) == []


def test_every_finding_has_a_sentence_and_a_line_of_the_table(run: Run) -> None:
    part = all_findings(run)
    assert part is not None
    (sheet,) = part.details
    assert len(sheet.lines) == min(len(run.findings), 200)
    assert all(len(line.places) == 3 and all(p.text for p in line.places) for line in sheet.lines)
    of_cells = sentences_of(run)
    (outlier,) = [k for k in of_cells if k.startswith("WL-stream-udp-1500-61440")]
    assert any("is an outlier" in each for each in of_cells[outlier])


def test_means_on_fewer_cells_and_blanks_are_told(run: Run) -> None:
    fewer = {
        str(each.group): (each.evidence["cells"], each.evidence["most_cells"])
        for each in of_kind(run.findings, Kind.FEWER_CELLS)
    }
    assert fewer == {
        "WL UDP 1500": (12, 13),
        "WL UDP 64512": (11, 13),
        "LW UDP 64512": (7, 13),
        "WW TCP 65536": (4, 13),
    }
    missing = {str(e.group): e.evidence["cells"] for e in of_kind(run.findings, Kind.MISSING)}
    assert missing == {"WL UDP": 3, "LW UDP": 6, "WW TCP": 9, "WW UDP": 52}


def moved(columns: Figures, where: tuple[str, str, int], figure: float, to: int) -> Figures:
    """The same figures, with one of them at another socket buffer of its series."""
    column = list(columns[where])
    at = column.index(figure)
    column[at], column[to] = column[to], column[at]
    return {**columns, where: column}


@settings(max_examples=6, deadline=None)
@given(
    st.permutations(["LL", "WL", "LW", "WW"]),
    st.sampled_from([0.01, 0.1, 0.37, 1.0, 10.0, 400.0]),
    st.integers(0, 11),
    st.integers(2, 12),
)
def test_the_explanations_hold_under_other_names_on_another_link_with_outliers_elsewhere(
    order: list[str], scale: float, first: int, second: int
) -> None:
    names = dict(zip(["LL", "WL", "LW", "WW"], order, strict=True))
    columns = moved(figures(), ("WL", "UDP", 1500), 1.89, first)
    columns = moved(columns, ("WL", "UDP", 64512), 56.31, second)
    turned = lab_report(columns, names=names, scale=scale)
    wl = names["WL"]
    outliers = {(f"{wl} UDP 1500", 16 + 4 * first), (f"{wl} UDP 64512", 16 + 4 * second)}
    check_the_explanations(turned, names, outliers)
    assert 3 <= len(leading(turned)) <= 5


def test_without_its_evidence_none_of_them_is_said() -> None:
    of_the_link = {
        *(Kind.WIRE_CEILING, Kind.FALL, Kind.NO_TIMESTAMPS, Kind.LINK_FAR_BELOW, Kind.FRAGMENTED),
        *(Kind.ABOVE_CEILING, Kind.OFF_TIME),
    }
    assert kinds_of(findings(lab_report(link=False))) & of_the_link == set()
    told = lab_report(known={"tcp_timestamps": False, "mss_bytes": 1460})
    assert Kind.NO_TIMESTAMPS not in kinds_of(findings(told))
    few = {where: column[:4] for where, column in figures().items()}
    shape = {Kind.OUTLIER, Kind.STEP, Kind.FALL}
    assert kinds_of(findings(lab_report(few))) & shape == set()
    empty: Figures = {where: [None] * 13 for where in figures()}
    assert kinds_of(findings(lab_report(empty))) == {Kind.MISSING}
    assert leading(lab_report(empty)) != ()


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_leaving_figures_out_makes_no_outlier_of_the_others(data: st.DataObject) -> None:
    where = ("LL", "UDP", 576)
    column = figures()[where]
    kept = data.draw(st.lists(st.booleans(), min_size=13, max_size=13))
    left = [value if keep else None for value, keep in zip(column, kept, strict=True)]
    found = findings(lab_report({where: left}))
    assert kinds_of(found) & {Kind.OUTLIER, Kind.STEP, Kind.FALL, Kind.LINK_FAR_BELOW} == set()


# Measured runs


def stream(protocol: str = "TCP", size: int = 1500, **more: Value) -> dict[str, Value]:
    return {"protocol": protocol, "message_bytes": size, "duration_s": 10.0, **more}


def measured(
    series: Mapping[int, Sequence[float | None]],
    *,
    pairing: str = "LL",
    asked: Mapping[str, Value] | None = None,
    values: Mapping[str, Value] | None = None,
    effective: Mapping[int, Mapping[str, Value]] | None = None,
    link: Link | None = LINK,
    notes: Sequence[Note] = (),
) -> Run:
    """Socket buffer → Mbit/s of each trial; ``None`` failed."""
    cells, records = [], []
    for size, trials in series.items():
        given = {**stream(), **(asked or {}), "socket_buffer_bytes": size}
        cell = PlannedCell(f"{pairing}-{size}", pairing, "stream", given)
        cells.append(cell)
        for number, mbit in enumerate(trials, 1):
            told: dict[str, Value] = {
                "same_host": False,
                "elapsed_ns": 10_000_400_000,
                "tcp_timestamps": True,
                **(values or {}),
                **((effective or {}).get(size, {})),
            }
            if mbit is not None:
                told["throughput_bit_per_s"] = mbit * 1e6
            made = replace(
                record_of(cell, told, printed="x", trial=number, server="a", client="b"),
                status=Status.OK if mbit is not None else Status.FAILED,
                reason=None if mbit is not None else "no-peer",
                values=told if mbit is not None else {},
            )
            records.append(made)
    repeats = max(map(len, series.values()))
    return run_of(plan_of(cells, link, repeats=repeats), records, notes)


def clean(**more: Any) -> Run:
    """Eight buffers, five trials each, all at the wire's ceiling."""
    trials = [[mbit + 0.01 * n for n in range(5)] for mbit in CLEAN_MBIT]
    return measured(dict(zip(BUFFERS, trials, strict=True)), **more)


def test_a_clean_run_has_no_warning() -> None:
    found = findings(clean())
    assert [each for each in found if each.severity == "warning"] == []
    assert kinds_of(found) == {Kind.WIRE_CEILING, Kind.BUFFER_NO_EFFECT}


def test_a_trial_far_from_its_siblings_is_told_and_the_mean_without_it() -> None:
    series = {16 * KIB: [94.0, 94.1, 60.0, 94.0, 94.1]}
    (found,) = of_kind(findings(measured(series)), Kind.STRAY_TRIAL)
    assert (found.evidence["trial"], found.evidence["trials"]) == (3, 5)
    assert found.evidence["mean_without"] == pytest.approx(94.05e6)
    four = {16 * KIB: [94.0, 94.1, 60.0, 94.0]}
    assert of_kind(findings(measured(four)), Kind.STRAY_TRIAL) == []


def test_a_stray_trial_makes_no_outlier_of_its_cell() -> None:
    series = {size: [94.0, 94.1, 94.0, 94.1, 94.0] for size in BUFFERS}
    series[BUFFERS[3]] = [94.0, 5.0, 94.0, 94.1, 94.0]
    found = findings(measured(series))
    assert of_kind(found, Kind.OUTLIER) == []
    assert len(of_kind(found, Kind.STRAY_TRIAL)) == 1


def test_a_buffer_that_matters_is_not_said_to_have_no_effect() -> None:
    growing = {size: [10.0 + size / KIB] for size in BUFFERS}
    assert of_kind(findings(measured(growing)), Kind.BUFFER_NO_EFFECT) == []
    three = {size: [94.0] for size in BUFFERS[:3]}
    assert of_kind(findings(measured(three)), Kind.BUFFER_NO_EFFECT) == []


def test_capped_buffers_are_told_and_cells_of_one_effective_buffer_are_one_point() -> None:
    ends = [
        f"{end}_{side}_buffer" for end in ("sender", "receiver") for side in ("send", "receive")
    ]

    def read_back(size: int) -> dict[str, Value]:
        told: dict[str, Value] = {}
        for name in ends:
            told[f"{name}_bytes"] = min(2 * size, 65536)
            told[f"{name}_doubled"] = 1
            if 2 * size > 65536:
                told[f"{name}_capped"] = 1
        return told

    flat = {size: [94.0] for size in BUFFERS}
    effective = {size: read_back(size) for size in BUFFERS}
    found = findings(measured(flat, effective=effective))
    (capped,) = of_kind(found, Kind.BUFFER_CAPPED)
    assert len(capped.cells) == 3
    assert capped.evidence["least_asked_bytes"] == 36 * KIB
    assert capped.evidence["most_effective_bytes"] == 65536
    (same,) = of_kind(found, Kind.SAME_BUFFER)
    assert [int(cell.rpartition("-")[2]) // KIB for cell in same.cells] == [32, 36, 40, 44]
    assert len(of_kind(found, Kind.BUFFER_DOUBLED)) == 1
    unknown = {
        size: {k: v for k, v in effective[size].items() if "send_" not in k} for size in BUFFERS
    }
    assert of_kind(findings(measured(flat, effective=unknown)), Kind.SAME_BUFFER) == []


@pytest.mark.parametrize(
    ("size", "more", "fragments", "largest"),
    [(1473, {}, 2, 1472), (64512, {}, 44, 1472), (1453, {"ip_version": 6}, 2, 1452)],
)
def test_messages_longer_than_a_frame_are_fragmented(
    size: int, more: dict[str, Value], fragments: int, largest: int
) -> None:
    run = measured({16 * KIB: [90.0]}, asked=stream("UDP", size, **more))
    (found,) = of_kind(findings(run), Kind.FRAGMENTED)
    assert found.evidence["fragments"] == fragments
    assert found.evidence["largest_whole_message_bytes"] == largest


@pytest.mark.parametrize(
    ("asked", "other"),
    [
        (stream("UDP", 1472), {}),
        (stream("TCP", 64512), {}),
        (stream("UDP", 1473), {"link": None}),
        (stream("UDP", 1473), {"values": {"same_host": True}}),
    ],
)
def test_what_fits_a_frame_or_touched_none_is_not_called_fragmented(
    asked: dict[str, Value], other: dict[str, Any]
) -> None:
    run = measured({16 * KIB: [90.0]}, asked=asked, **other)
    assert of_kind(findings(run), Kind.FRAGMENTED) == []


def test_the_paths_own_mtu_counts_where_it_is_known() -> None:
    told = {"sender_path_mtu_bytes": 1400}
    run = measured({16 * KIB: [90.0]}, asked=stream("UDP", 1400), values=told)
    (found,) = of_kind(findings(run), Kind.FRAGMENTED)
    assert found.evidence["largest_whole_message_bytes"] == 1372


def test_a_cable_at_a_tenth_of_its_rate_is_suspected_and_a_slow_host_is_not() -> None:
    slow = measured({16 * KIB: [9.41]})
    (found,) = of_kind(findings(slow), Kind.LINK_FAR_BELOW)
    assert found.evidence["ceiling_share"] == pytest.approx(0.1, rel=1e-2)
    for other in (
        measured({16 * KIB: [30.0]}),
        measured({16 * KIB: [9.41]}, asked=stream("UDP", 64)),
        measured({16 * KIB: [9.41]}, asked=stream(rate_bit_per_s=1e7)),
        measured({16 * KIB: [9.41]}, values={"same_host": True}),
        measured({16 * KIB: [9.41]}, link=None),
    ):
        assert of_kind(findings(other), Kind.LINK_FAR_BELOW) == []


def both_ways(there: float, back: float, pairings: tuple[str, str] = ("a+b", "b+a")) -> Run:
    one = measured({16 * KIB: [there]}, pairing=pairings[0])
    other = measured({16 * KIB: [back]}, pairing=pairings[1])
    plan = replace(one.plan, cells=(*one.plan.cells, *other.plan.cells))
    return run_of(plan, (*one.records, *other.records))


def test_one_way_that_is_far_slower_than_the_other_is_told() -> None:
    for pairings in (("a+b", "b+a"), ("WL", "LW")):
        run = both_ways(26.3, 85.9, pairings)
        (found,) = of_kind(findings(run), Kind.ONE_WAY)
        assert (found.group.pairing, found.words["against"]) == pairings
        assert "3.3 times as much the other way round" in sentence(found, Speaker(run))
    assert of_kind(findings(both_ways(60.0, 85.9)), Kind.ONE_WAY) == []
    assert of_kind(findings(both_ways(26.3, 85.9, ("a+b", "a+c"))), Kind.ONE_WAY) == []


def test_the_recorded_kinds_of_connection_yield_what_is_odd_about_one_bridge() -> None:
    run = load(FOLDER.parent / "connection-kinds")
    assert [str(each.group) for each in of_kind(run.findings, Kind.ABOVE_CEILING)] == [
        "linux+colinux-winpcap-bridge UDP"
    ]
    assert [str(each.group) for each in of_kind(run.findings, Kind.ONE_WAY)] == [
        "linux+colinux-winpcap-bridge TCP"
    ]
    said = leading(run)
    assert said[0].startswith("linux+colinux-winpcap-bridge UDP: 3.2 % above the wire’s ceiling")
    assert "Of 50 cells without a result: 12, the imported document" in said[2]


def test_the_recorded_blasts_of_nettest_were_at_the_wires_limit() -> None:
    run = load(FOLDER.parent / "nettest")
    assert [each for each in run.findings if each.severity == "warning"] == []
    assert [str(each.group) for each in of_kind(run.findings, Kind.WIRE_CEILING)] == [
        "LL TCP 1448",
        "LL UDP 1472",
    ]


def facts_note(host: str, when: str, **facts: Value) -> Note:
    return Note("facts", "", {"host": host, "when": when, "facts": facts}, 0)


GOOD: dict[str, Value] = {
    "governor": "performance",
    "virtual": "none",
    "route_interface": "eth0",
    "interface_speed_bit_per_s": 100_000_000,
    "interface_mtu_bytes": 1500,
    "interface_duplex": "full",
    "interface_sent_bytes": 1,
}


@pytest.mark.parametrize(
    ("after", "kind"),
    [
        ({"default_qdisc": "fq"}, Kind.FACTS_CHANGED),
        ({"boot_id": "other"}, Kind.FACTS_CHANGED),
        ({"interface_speed_bit_per_s": 10_000_000}, Kind.LINK_SPEED),
        ({"interface_duplex": "half"}, Kind.DUPLEX),
        ({"interface_mtu_bytes": 1400}, Kind.LINK_MTU),
        ({"virtual": "kvm"}, Kind.VIRTUAL_MACHINE),
    ],
)
def test_what_is_wrong_with_a_host_is_told_by_its_facts(
    after: dict[str, Value], kind: Kind
) -> None:
    before = dict.fromkeys(after, "as it was") if kind is Kind.FACTS_CHANGED else after
    notes = [facts_note("a", "before", **GOOD | before), facts_note("a", "after", **GOOD | after)]
    found = [each for each in findings(clean(notes=notes)) if not each.cells]
    assert kinds_of(found) == {kind}
    assert "eth0" in str(found[0].words) or kind in (Kind.FACTS_CHANGED, Kind.VIRTUAL_MACHINE)


def test_counters_that_grow_and_facts_that_nobody_could_read_are_no_change() -> None:
    before = facts_note("a", "before", **GOOD)
    after = facts_note("a", "after", **{**GOOD, "interface_sent_bytes": 2, "governor": ""})
    assert [e for e in findings(clean(notes=[before, after])) if not e.cells] == []


def test_the_interface_of_a_host_that_used_no_cable_does_not_matter() -> None:
    facts = {"a": [{**GOOD, "interface_mtu_bytes": 65536}]}
    assert hosts(facts, LINK, frozenset()) == ()
    assert len(hosts(facts, LINK, frozenset({"a"}))) == 1
    loopback = {"a": [{**GOOD, "interface_mtu_bytes": 65536, "route_interface": "lo"}]}
    assert hosts(loopback, LINK, frozenset({"a"})) == ()


@pytest.mark.parametrize(
    ("elapsed_s", "more", "off"),
    [
        (10.0004, {}, False),
        (10.5, {}, True),
        (9.7, {}, True),
        (10.5, {"receiver_longest_gap_ns": 500_000_000}, False),
    ],
)
def test_trials_that_took_another_time_than_asked_for_are_told(
    elapsed_s: float, more: dict[str, Value], off: bool
) -> None:
    run = clean(values={"elapsed_ns": int(elapsed_s * 1e9), **more})
    found = of_kind(findings(run), Kind.OFF_TIME)
    assert len(found) == off
    if off:
        assert (found[0].evidence["trials"], found[0].evidence["of_trials"]) == (40, 40)


def test_failed_trials_are_a_warning_and_blanks_a_note() -> None:
    series: dict[int, Sequence[float | None]] = {size: [94.0, 94.0] for size in BUFFERS}
    series[BUFFERS[0]] = [None, 94.0]
    found = findings(measured(series))
    (failed,) = of_kind(found, Kind.FAILED)
    assert (failed.severity, failed.evidence["trials"]) == ("warning", 1)
    assert "The other probe did not come before the deadline (no-peer)" in sentence(
        failed, Speaker(measured(series))
    )
    assert of_kind(found, Kind.MISSING, Kind.FEWER_CELLS) == []


def test_two_pairings_that_were_repeated_are_no_matter_of_one_trial() -> None:
    one, other = clean(), clean(pairing="WL")
    cells = (*one.plan.cells, *other.plan.cells)
    both = run_of(replace(one.plan, cells=cells), (*one.records, *other.records))
    assert of_kind(findings(both), Kind.UNREPEATED) == []


def test_stated_durations_near_what_was_asked_for_are_no_finding() -> None:
    def said(longest_s: float) -> Stated:
        return Stated(
            durations=(
                StatedDuration(
                    pairings=(), asked_s=10, shortest_s=10, longest_s=longest_s, source="page 1"
                ),
            )
        )

    assert of_kind(findings(lab_report(stated=said(10.01))), Kind.OFF_TIME) == []
    assert len(of_kind(findings(lab_report(stated=said(11))), Kind.OFF_TIME)) == 4


@given(
    st.lists(st.one_of(st.none(), st.floats(1e-3, 1e5, allow_nan=False)), min_size=1, max_size=8),
    st.sampled_from(["TCP", "UDP"]),
    st.sampled_from([1, 64, 1472, 1473, 65507]),
    st.sets(st.sampled_from(["same_host", "elapsed_ns", "tcp_timestamps"])),
)
@settings(max_examples=50, deadline=None)
def test_whatever_was_measured_each_finding_has_words_and_warnings_come_first(
    figures_mbit: list[float | None], protocol: str, size: int, without: set[str]
) -> None:
    series = {buffer: [mbit] for buffer, mbit in zip(BUFFERS, figures_mbit, strict=False)}
    run = measured(series, asked=stream(protocol, size))
    records = [
        replace(r, values={k: v for k, v in r.values.items() if k not in without})
        for r in run.records
    ]
    run = run_of(run.plan, records)
    found = findings(run)
    severities = [each.severity for each in found]
    assert severities == sorted(severities, reverse=True)
    for each in found:
        said = sentence(each, Speaker(run))
        assert said.endswith(".") and "nan" not in said and "None" not in said
    assert len(leading(run)) <= 5
