"""Each CPU wait and its cost has its exact threshold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from made_samples import ACCOUNT, CEILING, IDLE, changed, losses_of, tcp, udp

from netlab.findings.derived import StreamSample
from netlab.findings.stream_end import StreamEnd
from netlab.findings.stream_rules import (
    costs,
    receiver_behind,
    receiver_costs,
    receiver_held_up,
    robbed,
    starved,
    throttled,
    wants_cpu,
)

MS = 1_000_000
LEAST_WINDOW_NS = 200 * MS


def end(**changes: Any) -> StreamEnd:
    return changed(IDLE, **changes)


# ---- one end -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("periods", "times", "waited"),
    [(100, 5, False), (1000, 51, True), (None, 51, False), (1000, None, False), (0, 0, False)],
)
def test_a_thread_is_throttled_if_its_quota_stopped_more_than_5_percent_of_periods(
    periods: int | None, times: int | None, waited: bool
) -> None:
    assert throttled(end(quota_periods=periods, throttled_periods=times)) is waited


@pytest.mark.parametrize(
    ("delay_ns", "waited"), [(50 * MS, False), (50 * MS + 1, True), (None, False)]
)
def test_a_thread_is_starved_if_waiting_for_a_cpu_took_more_than_5_percent_of_the_window(
    delay_ns: int | None, waited: bool
) -> None:
    assert starved(end(run_queue_delay_ns=delay_ns)) is waited


@pytest.mark.parametrize(("share", "verdict"), [(0.05, False), (0.0501, True), (None, False)])
def test_a_thread_suffers_from_steal_if_steal_is_above_5_percent_of_the_cpu_time(
    share: float | None, verdict: bool
) -> None:
    assert robbed(end(steal_share=share)) is verdict


@pytest.mark.parametrize(
    ("delay_ns", "verdict"), [(None, True), (187_500_000, True), (187_500_001, False)]
)
def test_a_thread_does_not_suffer_from_steal_if_its_cpu_wait_is_over_three_times_as_long(
    delay_ns: int | None, verdict: bool
) -> None:
    """Three times a sixteenth of a second's window."""
    assert robbed(end(steal_share=0.0625, run_queue_delay_ns=delay_ns)) is verdict


@pytest.mark.parametrize(
    ("rule", "changes"),
    [
        (throttled, {"quota_periods": 10, "throttled_periods": 9}),
        (starved, {"run_queue_delay_ns": 190 * MS}),
        (robbed, {"steal_share": 0.9}),
    ],
)
def test_quotas_cpu_waits_and_steal_are_judged_only_in_windows_of_at_least_200_ms(
    rule: Callable[[StreamEnd], bool], changes: dict[str, Any]
) -> None:
    assert rule(end(window_ns=LEAST_WINDOW_NS, **changes)) is True
    assert rule(end(window_ns=LEAST_WINDOW_NS - 1, **changes)) is False
    assert rule(end(window_ns=None, **changes)) is False


@pytest.mark.parametrize(
    ("thread_ns", "delay_ns", "wants"),
    [
        (500 * MS, 450 * MS, True),
        (500 * MS, 449 * MS, False),
        (950 * MS, None, True),
        (None, 950 * MS, True),
        (940 * MS, None, False),
        (None, 940 * MS, False),
        (None, None, False),
    ],
)
def test_a_thread_needs_a_whole_cpu_if_running_and_waiting_fill_95_percent_of_the_window(
    thread_ns: int | None, delay_ns: int | None, wants: bool
) -> None:
    assert wants_cpu(end(thread_ns=thread_ns, run_queue_delay_ns=delay_ns)) is wants


# ---- what a wait costs ---------------------------------------------------------------------------

NOTHING = {
    "run_queue_delay_ns": None,
    "steal_share": None,
    "quota_periods": None,
    "throttled_periods": None,
}


@pytest.mark.parametrize(
    ("changes", "half"),
    [
        ({"run_queue_delay_ns": 250 * MS}, True),
        ({"run_queue_delay_ns": 249 * MS}, False),
        ({"steal_share": 0.25}, True),
        ({"steal_share": 0.249}, False),
        ({"quota_periods": 100, "throttled_periods": 25}, True),
        ({"quota_periods": 100, "throttled_periods": 24}, False),
        (NOTHING, False),
    ],
)
def test_a_cpu_wait_counts_if_the_wait_explains_half_of_the_missing_throughput(
    changes: dict[str, Any], half: bool
) -> None:
    halved = udp(throughput_bit_per_s=CEILING / 2)
    assert costs(halved, end(**(NOTHING | changes))) is half


def test_the_cost_of_overlapping_cpu_waits_is_the_longest_wait_and_not_the_sum() -> None:
    halved = udp(throughput_bit_per_s=CEILING / 2)
    waiting_end = end(
        run_queue_delay_ns=200 * MS, steal_share=0.2, quota_periods=10, throttled_periods=2
    )
    assert costs(halved, waiting_end) is False
    assert costs(halved, changed(waiting_end, steal_share=0.26)) is True


@pytest.mark.parametrize(("share", "half"), [(0.5, True), (0.49, False), (0.0, False)])
def test_without_a_known_ceiling_a_cpu_wait_must_fill_half_of_the_window(
    share: float, half: bool
) -> None:
    nowhere = udp(ceiling_bit_per_s=None)
    assert costs(nowhere, end(**(NOTHING | {"steal_share": share}))) is half


def test_the_waits_of_a_receiver_cost_nothing_if_trials_without_waits_were_hardly_faster() -> None:
    unknown = changed(ACCOUNT, rwnd_limited_us=None)
    waiting_end = end(run_queue_delay_ns=300 * MS)
    halved = tcp(throughput_bit_per_s=CEILING / 2, tcp=unknown, receiver=waiting_end)
    assert receiver_costs(halved) is True
    assert receiver_costs(halved, 1.03 * CEILING / 2) is True
    assert receiver_costs(halved, 1.01 * CEILING / 2) is False


# ---- a receiver that falls behind ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "behind"),
    [
        ({"queue_full_share": 0.5}, False),
        ({"queue_full_share": 0.51}, True),
        ({"queue_full_share": None}, False),
        ({"queue_full_share": 0.9, "queue_looks": 8}, True),
        ({"queue_full_share": 0.9, "queue_looks": 7}, False),
        ({"queue_full_share": 0.9, "queue_looks": None}, False),
        ({"queue_full_share": 0.9, "receiver": end(window_ns=LEAST_WINDOW_NS - 1)}, False),
        ({"queue_full_share": 0.9, "sender": end(window_ns=LEAST_WINDOW_NS - 1)}, True),
    ],
)
def test_a_receiver_falls_behind_if_most_of_at_least_eight_samples_find_its_queue_full(
    changes: dict[str, Any], behind: bool
) -> None:
    assert receiver_behind(udp(**changes)) is behind


def in_socket(sent_count: int, lost_count: int, drop_count: int | None) -> dict[str, Any]:
    losses = losses_of(sent=sent_count, lost=lost_count, receive_queue=drop_count, local=0)
    return {"sent": sent_count, "lost": lost_count, "losses": losses}


def closed(limited_us: int, waits: int) -> StreamSample:
    """TCP at half of its ceiling, with its receiver's window closed for so long."""
    fields = {
        "tcp": changed(ACCOUNT, rwnd_limited_us=limited_us),
        "receiver": end(run_queue_delay_ns=waits),
    }
    return tcp(throughput_bit_per_s=CEILING / 2, **fields)


@pytest.mark.parametrize(
    ("sample", "held_up"),
    [
        (udp(), False),
        (tcp(), False),
        (closed(500_000, waits=249 * MS), False),
        (closed(500_000, waits=250 * MS), True),
        (closed(499_999, waits=250 * MS), False),
        (tcp(tcp=changed(ACCOUNT, rwnd_limited_us=499_999)), False),
        (tcp(tcp=changed(ACCOUNT, rwnd_limited_us=None)), False),
        (udp(**in_socket(8_200, 4_200, 2_100)), True),
        (udp(**in_socket(8_200, 4_200, 2_099)), False),
        (udp(**in_socket(8_200, 4_200, None)), False),
        (udp(**in_socket(4_000, 100, 100)), False),
        (udp(receiver=end(thread_ns=900 * MS, run_queue_delay_ns=50 * MS)), True),
        (udp(receiver=end(thread_ns=900 * MS, run_queue_delay_ns=49 * MS)), False),
        (udp(receiver=end(thread_ns=990 * MS, spins=True)), False),
        (udp(sender=end(thread_ns=990 * MS)), False),
        (udp(queue_full_share=0.6), True),
    ],
)
def test_a_receiver_is_held_up_by_drops_or_a_closed_window_or_a_busy_thread_or_a_full_queue(
    sample: Any, held_up: bool
) -> None:
    assert receiver_held_up(sample) is held_up
