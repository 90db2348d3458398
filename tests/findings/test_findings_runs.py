"""Findings about a whole run depend on each other and come in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from made_findings import BUFFERS, CLEAN_MBIT, LINK, measured, of_kind, plan_of, run_of, stream

from netlab.ethernet import Link
from netlab.findings.analysis import Analysis, RunEvidence, findings
from netlab.findings.finding import Finding, Group, Kind
from netlab.findings.runs import unrepeated
from netlab.findings.series import series_of
from netlab.imports.common.csv_table import record_of
from netlab.store.journal import Note
from netlab.store.plan import PlannedCell
from netlab.trial.record import Value

# ---- one trial per cell --------------------------------------------------------------------------


def point(
    pairing: str,
    mbit: float | Sequence[float],
    buffer: Value = 16,
    *,
    test: str = "stream",
    size: int = 64,
    protocol: str = "TCP",
    values: Mapping[str, Value] | None = None,
    **changes: Value,
) -> Any:
    settings: dict[str, Value] = {
        **{"protocol": protocol, "message_bytes": size, "socket_buffer_bytes": buffer},
        **changes,
    }
    words = [pairing, protocol, str(size), str(buffer), test, *map(str, changes.values())]
    cell = PlannedCell(" ".join(words), pairing, test, settings)
    quantity = "throughput_bit_per_s" if test == "stream" else "rtt_mean_ns"
    trials = [mbit] if isinstance(mbit, float) else mbit
    return cell, [
        record_of(cell, {quantity: figure * 1e6, **(values or {})}, printed="x", trial=trial)
        for trial, figure in enumerate(trials, 1)
    ]


def made(*points: Any, link: Link | None = None) -> Analysis:
    repeats = max(len(its) for _, its in points)
    cells = [replace(cell, repeats=len(its) or 1) for cell, its in points]
    records = [record for _, its in points for record in its]
    return run_of(plan_of(cells, link, repeats=repeats), records)


def undecided(*points: Any) -> tuple[Finding, ...]:
    return tuple(unrepeated(series_of(made(*points))))


def test_pairings_with_single_trials_are_compared_by_the_means_of_their_common_cells() -> None:
    (finding,) = undecided(
        *(point("LL", 10.0, 1), point("LL", 20.0, 2), point("LL", 99.0, 3)),
        *(point("WL", 12.0, 1), point("WL", 24.0, 2), point("WL", 5.0, 4)),
        *(point("LL", 50.0, 1, size=1500), point("WL", 45.0, 1, size=1500)),
    )
    assert (finding.kind, finding.severity) == (Kind.CANNOT_TELL, "note")
    assert (finding.group, finding.words) == (Group("WL", "TCP"), {"against": "LL"})
    # Over buffers 1 and 2: 15 and 18 Mbit/s; of the other size 50 and 45.
    assert finding.evidence == {
        "n": 1,
        "columns": 2,
        "least_difference_bit_per_s": pytest.approx(-5e6),
        "most_difference_bit_per_s": pytest.approx(3e6),
        "least_ratio": pytest.approx(0.9),
        "most_ratio": pytest.approx(1.2),
    }
    assert finding.cells == (
        "WL TCP 64 1 stream",
        "WL TCP 64 2 stream",
        "WL TCP 1500 1 stream",
    )


def test_single_trials_in_which_nothing_arrived_are_not_compared() -> None:
    (finding,) = undecided(
        *(point("LL", 10.0, 1), point("LL", 0.0, 2), point("LL", 20.0, 3)),
        *(point("WL", 12.0, 1), point("WL", 24.0, 2), point("WL", 0.0, 3)),
    )
    assert finding.cells == ("WL TCP 64 1 stream",)
    assert undecided(point("LL", 0.0), point("WL", 0.0)) == ()


def test_every_pair_of_pairings_has_one_single_trial_finding_for_each_common_protocol() -> None:
    comparisons = undecided(
        *(point(pairing, 10.0) for pairing in ("LL", "WL", "LW")),
        *(point(pairing, 10.0, protocol="UDP") for pairing in ("WL", "LW")),
    )
    assert [(e.words["against"], e.group.pairing, e.group.protocol) for e in comparisons] == [
        ("LL", "WL", "TCP"),
        ("LL", "LW", "TCP"),
        ("WL", "LW", "TCP"),
        ("WL", "LW", "UDP"),
    ]


@pytest.mark.parametrize(
    "second_point",
    [
        point("WL", 10.0, 2),
        point("WL", 10.0, size=1500),
        point("WL", 10.0, protocol="UDP"),
        point("WL", 10.0, test="connect"),
        point("WL", []),
    ],
)
def test_single_trial_findings_compare_only_equal_cells(
    second_point: Any,
) -> None:
    assert undecided(point("LL", 10.0), second_point) == ()


def test_single_trial_findings_do_not_compare_cells_with_different_settings() -> None:
    first_point, second_point = point("LL", 10.0, streams=1), point("WL", 10.0, streams=2)
    assert undecided(first_point, second_point) == ()
    assert len(undecided(first_point, second_point, point("WL", 10.0, streams=1))) == 1


@pytest.mark.parametrize(
    "decided",
    [point("LW", [10.0, 11.0]), point("LW", 10.0, values={"same_host": True})],
)
def test_a_repeated_or_loopback_cell_suppresses_single_trial_findings(decided: Any) -> None:
    assert len(undecided(point("LL", 10.0), point("WL", 10.0))) == 1
    assert undecided(point("LL", 10.0), point("WL", 10.0), decided) == ()


def test_other_tests_and_a_mesh_of_hosts_do_not_suppress_single_trial_findings() -> None:
    mesh = [point(pairing, [1.0, 2.0]) for pairing in ("nas+pc", "pc+tv", "tv+nas")]
    first = [point("LL", 10.0, test="connect"), *mesh]
    assert len(undecided(*first, point("LL", 10.0), point("WL", 10.0))) == 1


@pytest.mark.parametrize(("pairings", "finding_count"), [(6, 15), (7, 0)])
def test_more_than_six_pairings_have_no_single_trial_findings(
    pairings: int, finding_count: int
) -> None:
    assert len(undecided(*(point(f"L{at}", 10.0) for at in range(pairings)))) == finding_count


def test_a_column_without_common_cells_does_not_hide_a_later_comparison() -> None:
    (finding,) = undecided(
        point("LL", 10.0, 1),
        point("WL", 10.0, 2),
        point("WL", 30.0, 1, size=1500),
        point("LL", 10.0, 1, size=1500),
    )
    assert (finding.evidence["columns"], finding.cells) == (1, ("WL TCP 1500 1 stream",))


# ---- dependencies -------------------------------------------------------------------------------


def note(host: Any = "a", kind: str = "facts", **data: Any) -> Note:
    return Note(kind, "", {**({} if host is None else {"host": host}), **data}, 0)


def column(mbit: Sequence[float], **more: Any) -> Analysis:
    return measured({size: [figure] for size, figure in zip(BUFFERS, mbit, strict=False)}, **more)


FALLING = [94.0] * 4 + [60.0, 50.0, 55.0]
WINDOW: Mapping[str, Value] = {
    **{"sender_tcp_begin_rwnd_limited_us": 0, "sender_tcp_end_rwnd_limited_us": 9_000_000},
    **{"sender_elapsed_ns": 10**10, "sender_tcp_end_snd_wnd": 32_768},
    **{"sender_tcp_end_min_rtt_us": 5_000},
}
SHOWN: Mapping[str, Value] = {
    **{"sender_elapsed_ns": 10**10, "receiver_elapsed_ns": 10**10, "sender_thread_ns": 10**9},
    **{"sender_run_queue_delay_ns": 0, "receiver_run_queue_delay_ns": 0},
    **{"receiver_queue_full_share": 0.0, "receiver_queue_looks": 90},
    **{
        f"sender_tcp_{edge}_{name}": 0
        for edge in ("begin", "end")
        for name in ("busy_time_us", "rwnd_limited_us", "sndbuf_limited_us", "total_retrans")
    },
}


def test_a_fall_from_the_ceiling_is_unexplained_unless_a_limit_explains_the_fall() -> None:
    assert len(of_kind(findings(column(FALLING)), Kind.UNEXPLAINED_FALL)) == 1
    explained = column(FALLING, effective={BUFFERS[5]: WINDOW})
    assert len(of_kind(findings(explained), Kind.BUFFER_LIMIT_RECEIVER)) == 1
    assert of_kind(findings(explained), Kind.UNEXPLAINED_FALL) == []


def test_a_not_determined_limit_does_not_explain_a_fall() -> None:
    run = column(FALLING, values=SHOWN)
    assert len(of_kind(findings(run), Kind.NOT_DETERMINED)) == 1
    assert len(of_kind(findings(run), Kind.UNEXPLAINED_FALL)) == 1


def test_a_slow_link_is_not_reported_if_a_host_limits_the_best_cell() -> None:
    slow = [4.0, 8.0, 6.0]
    assert len(of_kind(findings(column(slow)), Kind.LINK_FAR_BELOW)) == 1
    best = column(slow, effective={BUFFERS[1]: {**WINDOW, "sender_tcp_end_snd_wnd": 4_096}})
    assert of_kind(findings(best), Kind.LINK_FAR_BELOW) == []
    lossy = {**SHOWN, "sender_tcp_end_busy_time_us": 9_000_000, "sender_tcp_end_total_retrans": 9}
    path = findings(column(slow, values=lossy))
    assert len(of_kind(path, Kind.CONGESTION)) == 1
    assert len(of_kind(path, Kind.LINK_FAR_BELOW)) == 1, "a path's loss is the link's"


@pytest.mark.parametrize(("source", "presence"), [(None, True), ("table.csv", False)])
def test_an_excess_of_0_15_percent_over_the_ceiling_is_reported_for_runs_but_not_imports(
    source: str | None, presence: bool
) -> None:
    ceiling = 1e2 * 1460 / 1538
    settings: dict[str, Any] = {"protocol": "TCP", "message_bytes": None}
    run = column([ceiling * 1.0015], asked=settings)
    run = run_of(replace(run.plan, source=source), run.records)
    assert bool(of_kind(findings(run), Kind.ABOVE_WIRE_RATE)) is presence
    options = column([1e2 * 1448 / 1538 * 1.0015] * 3)
    records = [
        replace(r, values={k: v for k, v in r.values.items() if k != "tcp_timestamps"})
        for r in options.records
    ]
    options = run_of(replace(options.plan, source=source), records)
    assert bool(of_kind(findings(options), Kind.NO_TIMESTAMPS)) is presence


def test_interfaces_and_fragments_are_judged_by_the_link_of_the_matrix() -> None:
    facts = {"interface_speed_bit_per_s": 10**8, "interface_mtu_bytes": 9000}
    link = Link(1e9, 9000)
    run = column([900.0], asked=stream("UDP", 8972), link=link, notes=[note(facts=facts)])
    assert of_kind(findings(run), Kind.FRAGMENTED, Kind.INTERFACE_MTU) == []
    (speed,) = of_kind(findings(run), Kind.INTERFACE_SPEED)
    assert speed.evidence["link_rate_bit_per_s"] == 1e9


# ---- hosts and their facts -----------------------------------------------------------------------

HALF = {"interface_duplex": "half", "route_interface": "eth0"}


def told_of_duplex(run: Analysis) -> list[str]:
    return [finding.group.host for finding in of_kind(findings(run), Kind.INTERFACE_DUPLEX)]


def test_only_interfaces_of_hosts_that_measured_over_a_wire_are_checked() -> None:
    notes = [note(host, facts=HALF) for host in ("a", "b", "c", "")]
    assert told_of_duplex(column([94.0], notes=notes)) == ["a", "b"]
    assert told_of_duplex(column([94.0], notes=notes, values={"same_host": True})) == []
    run = column([94.0], notes=notes)
    unsaid = [
        replace(r, values={k: v for k, v in r.values.items() if k != "same_host"})
        for r in run.records
    ]
    assert told_of_duplex(run_of(run.plan, unsaid, notes)) == []
    nobody = [replace(r, server="", client="b") for r in run.records]
    assert told_of_duplex(run_of(run.plan, nobody, notes)) == ["b"]


def test_changed_facts_are_found_by_comparing_the_fact_notes_of_each_host_in_order() -> None:
    notes = [
        note("a", facts={"kernel": "1"}),
        note("b", facts={"kernel": "5"}),
        note("a", facts="none could be read"),
        note("a", kind="session", facts={"kernel": "9"}),
        note("a", facts={"kernel": "2"}),
        note("b", facts={"kernel": "5"}),
    ]
    (finding,) = of_kind(findings(column([94.0], notes=notes)), Kind.FACTS_CHANGED)
    assert (finding.group.host, finding.words) == ("a", {"kernel": "1 → 2"})


def test_facts_that_variants_change_are_left_out_of_the_fact_notes_of_a_run() -> None:
    change = {"known": "governor", "wanted": "performance"}
    content = {"variants": {"power": {"fast": {"server": [change], "client": []}}}}
    notes = [
        note("a", facts={"kernel": "1", "governor": "powersave"}),
        note("b", facts="none could be read"),
    ]
    run = column([94.0], notes=notes)
    assert RunEvidence(run).facts == {"a": [{"kernel": "1", "governor": "powersave"}]}
    varied = run_of(replace(run.plan, content=content), run.records, notes)
    assert RunEvidence(varied).facts == {"a": [{"kernel": "1"}]}


def test_facts_without_a_host_are_not_compared_with_the_facts_of_a_host() -> None:
    notes = [note(None, facts={"kernel": "1"}), note("a", facts={"kernel": "2"})]
    assert of_kind(findings(column([94.0], notes=notes)), Kind.FACTS_CHANGED) == []
    again = [*notes, note(None, facts={"kernel": "3"})]
    (finding,) = of_kind(findings(column([94.0], notes=again)), Kind.FACTS_CHANGED)
    assert (finding.group.host, finding.words) == ("", {"kernel": "1 → 3"})


def test_a_run_reports_a_power_saving_host_from_its_fact_notes() -> None:
    run = column([94.0], notes=[note("a", facts={"governor": "powersave"})])
    (finding,) = of_kind(findings(run), Kind.POWER_SAVING)
    assert (finding.group.host, finding.words) == ("a", {"governor": "powersave"})


# ---- all together --------------------------------------------------------------------------------


def test_findings_of_a_run_list_warnings_first_and_notes_in_a_fixed_order() -> None:
    mbit = [*CLEAN_MBIT[:7], 20.0]
    facts = [note("a", facts={"governor": "powersave", "virtual": "kvm"})]
    long = {"elapsed_ns": 15 * 10**9}
    udp = column(mbit, asked=stream("UDP", 2_000), values=long, notes=facts)
    run_findings = findings(udp)
    assert [finding.kind for finding in run_findings] == [
        Kind.OFF_TIME,
        Kind.DEVIATION_CELL,
        Kind.VIRTUAL_MACHINE,
        Kind.POWER_SAVING,
        Kind.WIRE_CEILING,
        Kind.SOCKET_BUFFER_NO_EFFECT,
        Kind.FRAGMENTED,
    ]


def test_a_run_without_results_has_only_a_missing_cells_finding() -> None:
    run = run_of(plan_of([PlannedCell("a", "LL", "stream", stream())], LINK), [])
    assert [finding.kind for finding in findings(run)] == [Kind.NO_RESULT_CELLS]
    assert findings(run_of(plan_of([]), [])) == ()
