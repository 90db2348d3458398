"""Each finding about doubtful figures has its exact threshold, hosts and cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from draws import chance, drawn
from made_findings import run_of
from made_readings import plan_of, result
from made_samples import ACCOUNT, CEILING, IDLE, SECOND_NS, changed, tcp, udp
from made_trips import trip_cell

from netlab.findings.analysis import by_host
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Group, Kind, of_trials
from netlab.findings.stream_end import StreamEnd
from netlab.findings.stream_limits import is_above, limit_of
from netlab.findings.validity import clock_steps_of_round_trips, doubts, power_saving
from netlab.trial.record import FlowValues, Value

MS = 1_000_000


def end(host: str = "b", **changes: Any) -> StreamEnd:
    return changed(IDLE, host=host, **changes)


def only(*samples: StreamSample) -> Finding:
    (finding,) = doubts(samples)
    return finding


def test_an_imported_figure_exactly_0_2_percent_above_the_ceiling_is_not_reported() -> None:
    sample = udp(throughput_bit_per_s=1002.0, highest_ceiling_bit_per_s=1000.0, imported=True)
    assert is_above(sample) is False
    assert is_above(changed(sample, throughput_bit_per_s=1002.001)) is True


def test_a_figure_above_the_ceiling_is_reported_with_both_figures() -> None:
    finding = only(udp(throughput_bit_per_s=1.2 * CEILING, cell="x"))
    assert (finding.group, finding.cells) == (Group("LL", "UDP", 1472), ("x",))
    assert finding.evidence["throughput_bit_per_s"] == 1.2 * CEILING
    assert finding.evidence["highest_ceiling_bit_per_s"] == CEILING


@pytest.mark.parametrize(
    ("path", "link", "same_host", "smaller"),
    [
        (1499, 1500, False, True),
        (1500, 1500, False, False),
        (9000, 1500, False, False),
        (1499, None, False, False),
        (None, 1500, False, False),
        (1499, 1500, True, False),
    ],
)
def test_a_smaller_path_mtu_is_recognized_only_over_a_wire_and_if_both_mtus_are_known(
    path: int | None, link: int | None, same_host: bool, smaller: bool
) -> None:
    sample = udp(path_mtu_bytes=path, link_mtu_bytes=link, same_host=same_host)
    assert bool(doubts([sample])) is smaller


def test_a_smaller_path_mtu_is_a_warning_with_both_mtus() -> None:
    finding = only(udp(path_mtu_bytes=1400, link_mtu_bytes=1500))
    assert (finding.kind, finding.severity) == (Kind.MTU_MISMATCH_STREAM, "warning")
    assert (finding.evidence["path_mtu_bytes"], finding.evidence["link_mtu_bytes"]) == (1400, 1500)


# ---- congestion control --------------------------------------------------------------------------


def sent_by(host: str, control: str | None, cell: str = "a", **changes: Any) -> StreamSample:
    return tcp(cell=cell, sender=end(host), receiver=end("z"), congestion=control, **changes)


def test_different_congestion_controls_are_reported_by_host_with_the_affected_cells() -> None:
    finding = only(
        sent_by("y", "cubic", "b"),
        sent_by("x", "reno", "a"),
        sent_by("x", "bbr", "a"),
        sent_by("w", None, "c"),
        sent_by("v", "dctcp", "d", congestion_asked=True),
        sent_by("u", "vegas", "e", same_host=True),
    )
    assert (finding.kind, finding.severity) == (Kind.CONGESTION_DIFFERS, "warning")
    assert (finding.group, finding.cells) == (Group(protocol="TCP"), ("b", "a"))
    assert (finding.words, finding.evidence) == ({"x": "bbr, reno", "y": "cubic"}, {})
    assert list(finding.words) == ["x", "y"]


def test_one_host_with_two_congestion_controls_is_reported_as_different() -> None:
    assert only(sent_by("x", "reno"), sent_by("x", "bbr")).words == {"x": "bbr, reno"}
    assert doubts([sent_by("x", "bbr"), sent_by("y", "bbr")]) == ()


# ---- clocks --------------------------------------------------------------------------------------


def test_a_clock_that_was_set_is_reported_with_its_largest_step_and_cells() -> None:
    finding = only(
        udp(cell="a", sender=end(clock_step_ns=600 * MS)),
        udp(cell="b"),
        udp(cell="c", receiver=end(clock_step_ns=-900 * MS)),
        udp(cell="a", sender=end(clock_step_ns=700 * MS)),
    )
    assert (finding.kind, finding.severity) == (Kind.CLOCK_STEP, "warning")
    assert (finding.group, finding.cells) == (Group(host="b"), ("a", "c"))
    assert finding.evidence == {"clock_step_ns": -900.0 * MS}


@pytest.mark.parametrize("steps_ms", [(-900, 600), (600, -900), (-900, 1, 600)])
def test_the_largest_clock_step_of_a_cell_is_reported_whatever_its_direction(
    steps_ms: tuple[int, ...],
) -> None:
    trials = [udp(sender=end(clock_step_ns=step_ms * MS)) for step_ms in steps_ms]
    assert only(*trials).evidence == {"clock_step_ns": -900.0 * MS}


@pytest.mark.parametrize("steps_ms", [(-900, 600), (600, -900), (-900, 1, 600)])
def test_the_largest_clock_step_during_round_trips_is_reported_whichever_trial_has_it(
    steps_ms: tuple[int, ...],
) -> None:
    cell = trip_cell()
    steps: list[dict[str, Value]] = [{"server_wall_step_ns": step * MS} for step in steps_ms]
    records = [result(cell, number, values) for number, values in enumerate(steps, 1)]
    (finding,) = clock_steps_of_round_trips(run_of(plan_of([cell], len(steps)), records))
    assert (finding.kind, finding.cells) == (Kind.CLOCK_STEP, (cell.key,))
    assert finding.evidence == {"clock_step_ns": -900.0 * MS}


def test_each_host_whose_clock_was_set_has_its_own_finding() -> None:
    sample = udp(
        sender=end("x", clock_step_ns=600 * MS), receiver=end("y", clock_step_ns=-700 * MS)
    )
    findings = doubts([sample])
    assert [(finding.group.host, finding.evidence["clock_step_ns"]) for finding in findings] == [
        *(("x", 600.0 * MS), ("y", -700.0 * MS)),
    ]


@pytest.mark.parametrize(
    ("ppm", "window_ns", "off"),
    [
        (100.0, 200 * MS, False),
        (-100.0, 200 * MS, False),
        (100.1, 200 * MS, True),
        (-100.1, 200 * MS, True),
        (900.0, 200 * MS - 1, False),
    ],
)
def test_a_clock_rate_is_reported_above_100_ppm_in_windows_of_at_least_200_ms(
    ppm: float, window_ns: int, off: bool
) -> None:
    findings = doubts([udp(sender=end(clock_ppm=ppm, window_ns=window_ns))])
    assert [finding.kind for finding in findings] == [Kind.CLOCK_RATE] * off
    for finding in findings:
        assert finding.evidence == {"clock_ppm": ppm}


def test_a_clock_rate_is_reported_with_the_worst_trial_of_the_affected_cells() -> None:
    def trial(cell: str, ppm: float | None) -> StreamSample:
        return udp(cell=cell, sender=end(clock_ppm=ppm))

    finding = only(
        *(trial("a", 150.0), trial("a", -250.0), trial("a", 1.0)),
        *(trial("b", 900.0), trial("b", 2.0)),
        *(trial("c", 120.0),),
        *(trial("d", None),),
    )
    assert (finding.kind, finding.severity) == (Kind.CLOCK_RATE, "warning")
    assert (finding.group, finding.cells) == (Group(host="b"), ("a", "c"))
    assert finding.evidence == {"clock_ppm": -250.0}


# ---- other load ----------------------------------------------------------------------------------


def as_offered(**changes: Any) -> StreamSample:
    """At its offered rate: no host limits it."""
    return udp(offered_bit_per_s=4_000 * 1472 * 8.0, **changes)


@pytest.mark.parametrize(
    ("changes", "load"),
    [
        ({"run_queue_delay_ns": 51 * MS}, True),
        ({"run_queue_delay_ns": 50 * MS}, False),
        ({"steal_share": 0.051}, True),
        ({"steal_share": 0.05}, False),
        ({"run_queue_delay_ns": 51 * MS, "quota_periods": 100, "throttled_periods": 5}, True),
        ({"run_queue_delay_ns": 51 * MS, "quota_periods": 100, "throttled_periods": 6}, False),
        ({"steal_share": 0.051, "quota_periods": 100, "throttled_periods": 6}, True),
    ],
)
def test_other_load_is_reported_from_5_percent_of_cpu_waits_or_steal(
    changes: dict[str, Any], load: bool
) -> None:
    for side in ("sender", "receiver"):
        findings = doubts([as_offered(**{side: end(**changes)})])
        assert [(finding.kind, finding.group.host) for finding in findings] == [
            (Kind.OTHER_LOAD, "b")
        ] * load


def test_other_load_is_reported_with_the_worst_share_of_waits_and_steal() -> None:
    finding = only(
        as_offered(cell="a", sender=end(run_queue_delay_ns=60 * MS, steal_share=0.01)),
        as_offered(cell="b", receiver=end(run_queue_delay_ns=10 * MS, steal_share=0.07)),
        as_offered(cell="c", sender=end(run_queue_delay_ns=5 * MS)),
    )
    assert (finding.cells, finding.severity) == (("a", "b"), "note")
    assert finding.evidence == {"run_queue_share": 0.06, "steal_share": 0.07}
    unknown = only(as_offered(sender=end(run_queue_delay_ns=60 * MS, steal_share=None)))
    assert unknown.evidence == {"run_queue_share": 0.06}


def test_the_work_of_the_other_end_on_one_kernel_is_no_other_load() -> None:
    """Such as of two namespaces, or containers."""
    sample = as_offered(sender=end(run_queue_delay_ns=60 * MS))
    for kernels, load in (("12", True), ("11", False)):
        facts = {host: [{"boot_id": boot}] for host, boot in zip("ab", kernels, strict=True)}
        assert [it.kind for it in doubts([sample], facts)] == [Kind.OTHER_LOAD] * load


def test_other_load_in_only_half_of_the_trials_of_a_cell_is_not_reported() -> None:
    busy_sample, quiet_sample = as_offered(sender=end(steal_share=0.5)), as_offered(sender=end())
    assert doubts([busy_sample, quiet_sample]) == ()
    assert only(busy_sample, quiet_sample, busy_sample).cells == ("a",)


def test_other_load_is_reported_where_the_limit_is_not_known() -> None:
    for more in ({}, {"queue_full_share": None}):
        sample = udp(sender=end(run_queue_delay_ns=80 * MS), **more)
        assert limit_of(sample) is (None if more else Kind.NOT_DETERMINED)
        assert only(sample).kind is Kind.OTHER_LOAD


def test_other_load_is_not_reported_where_the_limit_is_known() -> None:
    wait = end(run_queue_delay_ns=80 * MS)
    for sample in (
        udp(throughput_bit_per_s=0.99 * CEILING, sender=wait),
        tcp(tcp=changed(ACCOUNT, sndbuf_limited_us=600_000), sender=wait),
        tcp(receiver=end(run_queue_delay_ns=500 * MS), queue_full_share=0.9),
        udp(sender=end(thread_ns=500 * MS, run_queue_delay_ns=490 * MS)),
        udp(sent=7_500, sender=end(steal_share=0.06)),
    ):
        assert doubts([sample]) == ()


def test_other_load_is_not_reported_where_a_path_that_is_not_steady_explains_the_trials() -> None:
    random = chance("told")
    for _ in range(drawn(20, 200)):
        samples = [as_offered(trial=n, sender=end(steal_share=0.5)) for n in range(1, 6)]
        samples = [changed(each, record=replace(each.record, trial=each.trial)) for each in samples]
        told = random.sample(range(1, 6), random.randrange(6))
        paused = [
            of_trials(Kind.PATH_PAUSES, samples[0].group, [("a", n)], 5, {"paused_share": 0.1})
            for n in told
        ]
        findings = doubts(samples, unsteady=paused)
        assert [it.kind for it in findings] == [Kind.OTHER_LOAD] * (len(told) < 3), told


@pytest.mark.parametrize(
    ("stopped", "stalled", "load"),
    [(0.24, 0.0, True), (0.26, 0.0, False), (0.0, 0.24, True), (0.0, 0.26, False)],
)
def test_other_load_is_not_reported_where_stopped_data_or_stops_of_the_sender_explain_half(
    stopped: float, stalled: float, load: bool
) -> None:
    """Half of the wire ceiling is missing."""
    own = FlowValues({"sender_stalled_ns": stalled * SECOND_NS}, "sender_")
    waiting = end(run_queue_delay_ns=80 * MS, measured=own)
    sample = as_offered(throughput_bit_per_s=CEILING / 2, stopped_share=stopped, sender=waiting)
    sample = changed(sample, offered_bit_per_s=CEILING / 2)
    assert [finding.kind for finding in doubts([sample])] == [Kind.OTHER_LOAD] * load


# ---- hosts that save power -----------------------------------------------------------------------


def saving(*notes: Mapping[str, Any]) -> list[tuple[str, Mapping[str, str]]]:
    findings = list(power_saving(by_host(notes)))
    assert {(finding.kind, finding.severity, finding.cells) for finding in findings} <= {
        (Kind.POWER_SAVING, "note", ())
    }
    return [(finding.group.host, finding.words) for finding in findings]


def test_power_saving_settings_are_collected_from_all_facts_of_each_host() -> None:
    assert saving(
        {"host": "b", "facts": {"governor": "schedutil,powersave,performance"}},
        {"host": "a", "facts": {"power_plan": "Balanced"}},
        {"host": "c", "facts": {"governor": "performance"}},
        {"host": "b", "facts": {"interface_eee": "active", "power_plan": "High performance"}},
        {"host": "d", "facts": "none"},
        {"host": "d"},
    ) == [
        ("b", {"governor": "powersave, schedutil", "interface_eee": "active"}),
        ("a", {"power_plan": "Balanced"}),
    ]


@pytest.mark.parametrize("governor", ["powersave", "ondemand", "conservative", "schedutil"])
def test_each_cpu_governor_that_follows_the_load_counts_as_power_saving(governor: str) -> None:
    assert saving({"host": "a", "facts": {"governor": governor}}) == [("a", {"governor": governor})]


def test_a_power_saving_fact_of_an_unnamed_host_gives_a_finding_without_a_host_name() -> None:
    assert saving({"facts": {"interface_eee": "active"}}) == [("", {"interface_eee": "active"})]


# ---- all of them ---------------------------------------------------------------------------------


def test_validity_findings_come_in_a_fixed_order_of_kinds() -> None:
    wrong: dict[str, Any] = {"clock_step_ns": 600 * MS, "clock_ppm": 300.0, "steal_share": 0.5}
    sample = tcp(
        throughput_bit_per_s=1.2 * CEILING,
        path_mtu_bytes=1400,
        link_mtu_bytes=1500,
        congestion="bbr",
        sender=end(**wrong),
    )
    cubic_sample = changed(sample, congestion="cubic")
    findings = doubts([sample, cubic_sample], {"b": [{"governor": "powersave"}]})
    assert [finding.kind for finding in findings] == [
        Kind.ABOVE_WIRE_RATE,
        Kind.MTU_MISMATCH_STREAM,
        Kind.CONGESTION_DIFFERS,
        Kind.CLOCK_STEP,
        Kind.CLOCK_RATE,
        Kind.OTHER_LOAD,
        Kind.POWER_SAVING,
    ]
