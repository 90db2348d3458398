"""Findings about segments, acknowledgements and MTUs, each at its threshold."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from draws import chance, drawn
from made_findings import LINK, plan_of, run_of
from made_readings import planned, result
from made_runs import made_record
from made_samples import ACCOUNT, IDLE, changed, tcp

from netlab.findings.claims import CLAIMED
from netlab.findings.derived import StreamSample, samples
from netlab.findings.finding import Finding, Group, Kind
from netlab.findings.limits import limits
from netlab.findings.runs import missing
from netlab.findings.stream_rules import window_unscaled
from netlab.findings.validity import delivered, doubts, hosts, way_back
from netlab.report.text.findings import statement
from netlab.results.tcp_series import TcpSeries
from netlab.store.journal import Note
from netlab.trial.record import FlowValues, Status


def kinds(findings: Iterable[Finding]) -> set[Kind]:
    return {finding.kind for finding in findings}


def measured(**values: Any) -> FlowValues:
    return FlowValues(values, "")


# ---- the MSS and MTUs ----------------------------------------------------------------------------


def small(advmss: int | None) -> StreamSample:
    """Segments of 1188 bytes over a path of 1500; what the receiver takes at most."""
    values = {} if advmss is None else {"receiver_tcp_end_advmss": advmss}
    return tcp(
        small_mss_bytes=1188, path_mtu_bytes=1500, link_mtu_bytes=1500, measured=measured(**values)
    )


@pytest.mark.parametrize(
    ("advmss", "kind"),
    [
        (None, Kind.SMALL_MSS),
        (1188, Kind.SMALL_MSS),
        (1189, Kind.CLAMPED_MSS),
        (1448, Kind.CLAMPED_MSS),
    ],
)
def test_a_small_mss_is_clamped_if_the_receiver_takes_longer_segments(
    advmss: int | None, kind: Kind
) -> None:
    (finding,) = doubts([small(advmss)])
    assert (finding.kind, finding.severity) == (kind, "note")
    assert finding.evidence["small_mss_bytes"] == 1188
    assert ("a device on the path" in statement(finding)) is (kind is Kind.CLAMPED_MSS)
    (alone,) = doubts([small(advmss), tcp(), tcp()])
    assert alone.kind is kind, "in one of three trials"


def of_interfaces(**mtus: int) -> list[Finding]:
    facts = {
        host: [{"route_interface": "eth0", "interface_mtu_bytes": mtu}]
        for host, mtu in mtus.items()
    }
    return [*hosts(facts, LINK, frozenset(facts))]


def test_one_other_mtu_of_all_hosts_is_one_finding() -> None:
    (finding,) = of_interfaces(a=1400, b=1400, c=1400)
    assert (finding.kind, finding.severity, finding.group) == (
        Kind.INTERFACE_MTUS,
        "warning",
        Group(),
    )
    assert finding.words["hosts"] == "a, b, c"
    assert finding.evidence["shorter_share"] == pytest.approx(1 / 15)
    assert "interfaces of a, b, c have an MTU of 1400 bytes, but" in statement(finding)


@pytest.mark.parametrize(
    ("mtus", "named"),
    [
        ({"a": 1400}, ["a"]),
        ({"a": 1400, "b": 1500}, ["a"]),
        ({"a": 1400, "b": 1401}, ["a", "b"]),
        ({"a": 1500, "b": 1500}, []),
    ],
)
def test_a_single_host_and_different_mtus_are_findings_of_their_own(
    mtus: dict[str, int], named: list[str]
) -> None:
    findings = of_interfaces(**mtus)
    assert [(finding.kind, finding.group.host) for finding in findings] == [
        (Kind.INTERFACE_MTU, host) for host in named
    ]


def test_cells_that_the_mtu_of_the_path_refuses_are_a_note_of_their_own() -> None:
    cells = [
        planned("stream", protocol="UDP", message_bytes=size, dont_fragment=True)
        for size in (1200, 1400, 1472)
    ]
    reasons = (None, "path-mtu", "capability-missing")
    records = [
        result(cell, 1, {"throughput_bit_per_s": 9e7})
        if reason is None
        else made_record(cell, status=Status.IMPOSSIBLE, reason=reason)
        for cell, reason in zip(cells, reasons, strict=True)
    ]
    found = {finding.kind: finding for finding in missing(run_of(plan_of(cells), records))}
    assert {*found} == {Kind.NO_RESULT_MTU, Kind.NO_RESULT_CELLS}
    assert found[Kind.NO_RESULT_MTU].cells == (cells[1].key,)
    assert found[Kind.NO_RESULT_MTU].severity == "note"
    assert found[Kind.NO_RESULT_MTU].evidence["lost_share"] == 1
    assert found[Kind.NO_RESULT_CELLS].cells == (cells[2].key,)
    assert "lost_share" not in found[Kind.NO_RESULT_CELLS].evidence


def test_trials_that_the_mtu_of_the_path_refused_are_told_beside_those_with_a_result() -> None:
    cell = planned("stream", protocol="UDP", message_bytes=8952)
    refused = made_record(cell, status=Status.IMPOSSIBLE, reason="path-mtu")
    records = [result(cell, 1, {"throughput_bit_per_s": 9e7}), replace(refused, trial=2)]
    (finding,) = missing(run_of(plan_of([cell], repeats=2), records))
    assert (finding.kind, finding.cells) == (Kind.NO_RESULT_MTU, (cell.key,))
    assert finding.evidence["lost_share"] == 1
    assert statement(finding).startswith("1 trial without a result (messages of 8952 bytes): ")


# ---- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("copied", "sent", "told"), [(2, 100, False), (3, 100, True), (3, 3001, False)]
)
def test_two_copies_may_be_of_before_the_window(copied: int, sent: int, told: bool) -> None:
    sample = tcp(duplicate_packets=copied, sent_segments=sent)
    assert (Kind.DELIVERY_AGAIN in kinds(delivered([sample]))) is told


# ---- marks ---------------------------------------------------------------------------------------


def marked(**changes: Any) -> StreamSample:
    figures = {"streams": 1, "ecn_packets": 4000, "marked_packets": 80, "echoed_marks": 400}
    return tcp(**(figures | changes))


def test_marks_that_held_tcp_back_are_told_with_their_share_and_the_path() -> None:
    one = {"ecn_packets": 40_000, "marked_packets": 1, "echoed_marks": 1, "trial": 2}
    (found,) = delivered([marked(), marked(**one), tcp(trial=3)])
    assert (found.kind, found.severity) == (Kind.DELIVERY_MARKED, "note")
    assert statement(found).startswith("81 of 44,000 packets (0.2 %) arrived marked")
    assert found.trials == (("a", 1), ("a", 2))
    assert CLAIMED[found.kind] == ("path", "rate", "", "")


@pytest.mark.parametrize(
    "changes",
    [
        {"marked_packets": 0},
        {"marked_packets": None},
        {"echoed_marks": 0},
        {"echoed_marks": None},
        {"same_host": True},
        {"tcp": changed(ACCOUNT, rwnd_limited_us=500_000)},
        {"offered_bit_per_s": 48e6},
    ],
    ids=str,
)
def test_marks_of_others_and_marks_that_did_not_hold_tcp_back_are_not_told(
    changes: dict[str, Any],
) -> None:
    assert kinds(delivered([marked(**changes)])) == set()


def test_a_paced_stream_below_its_rate_was_held_back_by_marks() -> None:
    assert kinds(delivered([marked(offered_bit_per_s=50e6)])) == {Kind.DELIVERY_MARKED}


@pytest.mark.parametrize(("marks", "limit"), [(0, {Kind.NOT_DETERMINED}), (80, set())])
def test_a_stream_with_marks_has_no_limit_that_is_not_determined(
    marks: int, limit: set[Kind]
) -> None:
    assert kinds(limits([marked(marked_packets=marks)])) == limit


# ---- the way back --------------------------------------------------------------------------------


def back(arrived: int, **changes: Any) -> StreamSample:
    """Of a thousand acknowledgements."""
    more = {"receiver_tcp_end_segs_out": 1000, **changes.pop("values", {})}
    figures = {"acknowledgements": arrived, "acknowledged": 1000, "streams": 1}
    return tcp(**(figures | changes), measured=measured(**more))


@pytest.mark.parametrize(
    ("arrived", "kind"),
    [
        (970, Kind.WAY_BACK_LOST),
        (971, None),
        (1029, None),
        (1031, Kind.WAY_BACK_COPIED),
    ],
)
def test_3_percent_of_the_acknowledgements_are_more_than_is_under_way(
    arrived: int, kind: Kind | None
) -> None:
    assert kinds(way_back([back(arrived)])) == ({kind} if kind else set())


def test_a_long_round_trip_and_a_stall_leave_more_acknowledgements_under_way() -> None:
    """Each may be 40 ms of a second."""
    longer = TcpSeries(time_us=[0, 1], rtt_us=[10_000, 40_000])
    stalled = changed(IDLE, measured=FlowValues({"receiver_stalled_ns": 40_000_000}, "receiver_"))
    for changes in ({"tcp_series": longer}, {"receiver": stalled}):
        assert kinds(way_back([back(931, **changes)])) == set()
        assert kinds(way_back([back(929, **changes)])) == {Kind.WAY_BACK_LOST}
    both = {"tcp_series": longer, "receiver": stalled}
    assert kinds(way_back([back(891, **both)])) == set()
    assert kinds(way_back([back(889, **both)])) == {Kind.WAY_BACK_LOST}


def test_a_time_by_which_one_window_is_longer_may_have_no_acknowledgements() -> None:
    shorter = changed(IDLE, window_ns=IDLE.window_ns - 40_000_000 if IDLE.window_ns else 0)
    assert kinds(way_back([back(1000, receiver=shorter)])) == set()
    assert kinds(way_back([back(960, receiver=shorter)])) == {Kind.WAY_BACK_LOST}


def odd(name: str, number: int, arrived: int = 1000, **changes: Any) -> StreamSample:
    return back(arrived, values={f"sender_tcp_{name}": number}, **changes)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("checksum_errors", Kind.WAY_BACK_DAMAGED, "arrived with a wrong checksum"),
        ("old_segments", Kind.WAY_BACK_OVERTAKEN, "arrived after later ones"),
    ],
)
def test_damaged_and_overtaken_acknowledgements_are_told_from_a_thousandth_on(
    name: str, kind: Kind, words: str
) -> None:
    (finding,) = way_back([odd(name, 3)])
    assert (finding.kind, finding.severity) == (kind, "note")
    assert kinds(way_back([odd(name, 2)])) == set(), "they may be of another connection"
    (much,) = way_back([odd(name, 200)])
    assert statement(much) == f"20 % of the acknowledgements {words}"
    # Of several streams, only the acknowledgements of the first one are counted.
    (several,) = way_back([odd(name, 200, streams=2)])
    assert statement(several) == f"acknowledgements {words}"
    # Both ways, the host counts segments with data, too.
    assert kinds(way_back([odd(name, 200, flow="to server")])) == set()


@pytest.mark.parametrize(("damaged", "lost"), [(99, True), (100, False)])
def test_acknowledgements_of_which_half_were_damaged_are_not_told_as_lost(
    damaged: int, lost: bool
) -> None:
    found = kinds(way_back([odd("checksum_errors", damaged, arrived=800)]))
    assert found == {Kind.WAY_BACK_DAMAGED} | ({Kind.WAY_BACK_LOST} if lost else set())


def with_mtu(trial: int, host: str, mtu: int | None, **changes: Any) -> StreamSample:
    path = {} if mtu is None else {"path_mtu_bytes": mtu}
    sender = changed(IDLE, host=host, interface="eth0", mtu_bytes=mtu)
    figures = {"link_mtu_bytes": 1500, "sender": sender, **path}
    sample = tcp(**(figures | {"trial": trial} | changes))
    return changed(sample, record=replace(sample.record, trial=trial))


def test_drawn_trials_whose_own_interface_had_a_smaller_mtu_than_in_others_are_named() -> None:
    random = chance("changed")
    for _ in range(drawn(30, 300)):
        least = random.randint(600, 1499)
        mtus = {trial: random.choice((1500, least, None)) for trial in range(1, 7)}
        samples = [with_mtu(trial, "b", mtu) for trial, mtu in mtus.items()]
        found = [it for it in doubts(samples) if it.kind is Kind.MTU_MISMATCH_CHANGED]
        shorter = [trial for trial, mtu in mtus.items() if mtu == least]
        if 1500 not in mtus.values() or not shorter:
            assert found == []
            continue
        (finding,) = found
        assert (finding.severity, finding.trials) == (
            "warning",
            tuple(("a", trial) for trial in shorter),
        )
        assert finding.evidence["own_mtu_bytes"] == least
        assert finding.evidence["shorter_share"] == pytest.approx(1 - least / 1500)
        assert f"had an MTU of {least} bytes" in statement(finding)


def test_another_interface_of_the_host_has_an_mtu_of_its_own() -> None:
    other = changed(IDLE, host="b", interface="eth1", mtu_bytes=9000)
    both = [with_mtu(1, "b", 1500), with_mtu(2, "b", 9000, sender=other)]
    assert doubts(both) == ()
    set_by_netlab = [with_mtu(1, "b", 1500), with_mtu(2, "b", 1400)]
    assert doubts(set_by_netlab, changed={"interface_mtu_bytes"}) == ()


def test_a_path_is_not_smaller_than_stated_in_trials_whose_own_interface_was() -> None:
    """Elsewhere it is, even if the interface has its MTU in all trials."""
    changed_one = [with_mtu(1, "b", 1500), with_mtu(2, "b", 1400), with_mtu(3, "b", 1400)]
    assert kinds(doubts(changed_one)) == {Kind.MTU_MISMATCH_CHANGED}
    path = [with_mtu(n, "b", 1500, path_mtu_bytes=1400) for n in (1, 2, 3)]
    always = [with_mtu(n, "b", 1400) for n in (1, 2, 3)]
    unknown = [with_mtu(n, "b", None, path_mtu_bytes=1400) for n in (1, 2, 3)]
    for of_path in (path, always, unknown):
        assert kinds(doubts(of_path)) == {Kind.MTU_MISMATCH_STREAM}
    hosts_apart = [with_mtu(1, "b", 1400), with_mtu(2, "c", 1500)]
    assert Kind.MTU_MISMATCH_CHANGED not in kinds(doubts(hosts_apart))


# ---- windows that are not scaled -----------------------------------------------------------------


def test_a_rate_of_one_unscaled_window_per_round_trip_is_that_window_within_a_quarter() -> None:
    """A congestion control that paces never waits for the window."""
    account = changed(ACCOUNT, window_bytes=65_535, min_rtt_us=10_000)  # 52.4 Mbit/s
    plain = measured(sender_tcp_end_options="timestamps,sack")
    scaled = measured(sender_tcp_end_options="timestamps,sack,wscale")
    limit = 65_535 * 8e2
    for factor, is_so in ((0.81, True), (0.79, False), (1.24, True), (1.26, False)):
        sample = tcp(tcp=account, measured=plain, throughput_bit_per_s=factor * limit)
        assert window_unscaled(sample) is is_so
        assert not window_unscaled(changed(sample, measured=scaled))
    # Far above the limit of one window: then it was larger at times, and TCP waited for it.
    waited = changed(account, rwnd_limited_us=880_000)
    for rate in (1.26, 1.5):
        sample = tcp(tcp=waited, measured=plain, throughput_bit_per_s=rate * limit)
        assert window_unscaled(sample)


def test_a_host_is_named_only_if_window_scaling_is_off_on_it_alone() -> None:
    account = changed(ACCOUNT, rwnd_limited_us=880_000, window_bytes=32_768, min_rtt_us=5_000)
    plain = measured(sender_tcp_end_options="timestamps,sack")
    (named,) = limits([tcp(tcp=account, measured=plain, unscaled_hosts=frozenset({"b"}))])
    assert named.words["at_host"] == "b"
    assert "window scaling is off on b: 32 KiB per round trip of 5 ms" in statement(named)
    (other,) = limits([tcp(tcp=account, measured=plain)])
    assert (other.kind, other.severity) == (Kind.UNSCALED_WINDOW, "warning")
    assert "at_host" not in other.words
    assert "the ends did not agree to scale windows" in statement(other)


@pytest.mark.parametrize(
    ("off", "named"),
    [((), ""), (("a",), "a"), (("b",), "b"), (("a", "b"), "")],
)
def test_the_host_without_window_scaling_is_known_by_its_facts(
    off: tuple[str, ...], named: str
) -> None:
    cell = planned("stream", protocol="TCP", message_bytes=1448)
    notes = [
        Note("facts", "", {"host": host, "facts": {"tcp_window_scaling": int(host not in off)}}, 0)
        for host in ("a", "b")
    ]
    run = run_of(plan_of([cell]), [result(cell, 1, {"throughput_bit_per_s": 9e7})], notes)
    (sample,) = samples(run)
    assert sample.unscaled_at == named


def test_what_each_trial_recorded_of_window_scaling_comes_before_the_facts() -> None:
    random, ends = chance("scaling"), ("sender", "receiver")
    for _ in range(drawn(20, 100)):
        each = {end: random.choice((None, 0, 1)) for end in ends}
        by_facts = frozenset(end for end in ends if random.random() < 0.5)
        values = measured(**{f"{end}_tcp_window_scaling": each[end] for end in ends})
        own = {
            end: changed(IDLE, host=end, measured=replace(values, prefix=f"{end}_")) for end in ends
        }
        off = by_facts if None in each.values() else {end for end in ends if not each[end]}
        sample = tcp(**own, unscaled_hosts=by_facts)
        assert sample.unscaled_at == (min(off) if len(off) == 1 else "")
