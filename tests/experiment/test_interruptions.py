"""Gaps in a record are an interruption unless loss, pace or round trips explain them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from draws import chance, drawn

from netlab.trial.interruptions import Cause, Interruption, asks_again, interruptions, least_ns
from netlab.trial.record import Record, Status, Value

MS, SECOND = 1_000_000, 1_000_000_000


def record(
    *, test: str = "stream", attempt: int = 1, settings: Any = (), **values: Value
) -> Record:
    all_settings = {"protocol": "UDP", "message_bytes": 1448, "duration_s": 4.0, **dict(settings)}
    return Record(
        cell="c",
        trial=1,
        attempt=attempt,
        status=Status.OK,
        pairing="LL",
        server="a",
        client="b",
        test=test,
        started_at="",
        settings=all_settings,
        values={"elapsed_ns": 4 * SECOND, **values},
    )


def gapped(
    *gaps_ms: tuple[int, int], end: str = "receiver", settings: Any = (), **values: Any
) -> Record:
    """A record with gaps of so many ms at so many ms."""
    listed = [number * MS for gap in gaps_ms for number in gap]
    total = sum(length for _, length in gaps_ms) * MS
    gap_values: dict[str, Value] = {
        "gap_count": len(gaps_ms),
        "gap_total_ns": total,
        "gaps": listed,
    }
    test = "round_trip" if end == "client" else "stream"
    own = {f"{end}_{name}": value for name, value in gap_values.items()}
    return record(**{"test": test, "settings": settings, **own, **values})


def only(of: Record) -> Interruption | None:
    every = [*interruptions(of)]
    assert len(every) < 2
    return every[0] if every else None


def test_a_record_without_gap_values_has_no_interruption() -> None:
    assert only(record(receiver_closed_by_silence=1, receiver_longest_gap_ns=3 * SECOND)) is None


def test_an_interruption_states_its_length_and_start() -> None:
    interruption = only(gapped((1100, 2000)))
    assert interruption == Interruption(
        stopped_ns=2 * SECOND, gaps=1, at_ns=1100 * MS, window_ns=4 * SECOND
    )


@pytest.mark.parametrize(
    ("duration_s", "long_ms", "is_one"),
    [(10, 490, False), (10, 500, True), (5, 490, False), (4.9, 240, False), (4.9, 250, True),
     (4, 190, False), (4, 210, True), (1, 100, True)],
)  # fmt: skip
def test_the_shortest_gap_that_is_an_interruption_depends_on_the_window(
    duration_s: float, long_ms: int, is_one: bool
) -> None:
    gap_record = gapped((300, long_ms), settings={"duration_s": duration_s})
    assert (only(gap_record) is not None) == is_one
    assert least_ns(10 * SECOND) == 500 * MS


def test_several_gaps_are_one_interruption_that_starts_at_the_longest_gap() -> None:
    interruption = only(gapped((100, 120), (1000, 140), (3000, 110)))
    assert interruption is not None
    assert (interruption.gaps, interruption.stopped_ns, interruption.at_ns) == (
        3,
        370 * MS,
        1000 * MS,
    )


def test_an_interruption_counts_all_gaps_and_not_only_the_gaps_listed_in_the_record() -> None:
    interruption = only(gapped((0, 200), receiver_gap_count=12, receiver_gap_total_ns=2 * SECOND))
    assert interruption is not None
    assert (interruption.gaps, interruption.stopped_ns) == (12, 2 * SECOND)


def test_each_direction_of_a_stream_has_its_own_interruption() -> None:
    values: dict[str, Any] = {
        f"{flow}receiver_{name}": value
        for flow in ("to_server_", "to_client_")
        for name, value in (("gaps", [SECOND, SECOND]), ("gap_count", 1), ("gap_total_ns", SECOND))
    }
    flows = [interruption.flow for interruption in interruptions(record(**values))]
    assert flows == ["to_server_", "to_client_"]


def test_a_trial_that_ended_in_silence_has_an_interruption_even_if_its_last_gap_is_short() -> None:
    assert only(gapped((3980, 71), receiver_closed_by_silence=1)) is not None
    assert only(gapped((3980, 71))) is None
    # Closed by silence, but by none that stands out: slow messages.
    assert only(gapped(receiver_closed_by_silence=1)) is None
    assert only(gapped((1000, 110), receiver_closed_by_silence=1)) is None


def test_gaps_of_a_stream_with_rarely_due_messages_are_no_interruption() -> None:
    slow = {"message_rate_per_s": 10.0, "duration_s": 60.0}
    assert only(gapped((1000, 1900), settings=slow)) is None
    assert only(gapped((1000, 2100), settings=slow)) is not None
    rate = {"rate_bit_per_s": 10 * 8 * 1448, "duration_s": 60.0}
    assert only(gapped((1000, 1900), settings=rate)) is None


RETRANSMITTED: dict[str, Any] = {
    "sender_tcp_begin_total_retrans": 0,
    "sender_tcp_end_total_retrans": 2,
    "sender_tcp_end_rto_us": 204_000,
}


def test_a_gap_of_one_tcp_retransmission_time_out_is_no_interruption() -> None:
    tcp = {"protocol": "TCP"}
    assert only(gapped((1000, 305), settings=tcp, **RETRANSMITTED)) is None
    assert only(gapped((1000, 310), settings=tcp, **RETRANSMITTED)) is not None
    without: dict[str, Any] = RETRANSMITTED | {"sender_tcp_end_total_retrans": 0}
    assert only(gapped((1000, 305), settings=tcp, **without)) is not None
    # A cable that lost its carrier is not taken for congestion.
    carrier: dict[str, Any] = {"receiver_interface_carrier_changes": 2}
    assert only(gapped((1000, 305), settings=tcp, **RETRANSMITTED, **carrier)) is not None


def test_tcp_gaps_no_longer_than_a_round_trip_are_no_interruption() -> None:
    tcp = {"protocol": "TCP"}
    far: dict[str, Any] = {"sender_tcp_end_min_rtt_us": 600_000}
    every = [(600 * at, 580) for at in range(6)]
    assert only(gapped(*every, settings=tcp, **far)) is None
    assert only(gapped((1000, 950), settings=tcp, **far)) is not None


def test_requests_that_were_answered_late_are_no_losses_unless_silences_end_with_one_each() -> None:
    random = chance("late answers")
    for _ in range(drawn(40, 400)):
        lost, gaps = random.randint(0, 12), random.randint(1, 9)
        late = random.randint(0, lost)
        of = gapped(
            *((400 * at, 250) for at in range(gaps)),
            end="client",
            settings={"timeout_s": 0.2},
            lost_messages=lost,
            client_late_messages=late,
        )
        is_longer_than_the_time_out = 3 <= late <= gaps
        explained = lost > late or is_longer_than_the_time_out
        assert (only(of) is None) is explained, (lost, late, gaps)


# ---- causes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "cause", "end"),
    [
        ({}, None, ""),
        ({"receiver_late_ticks": [1090 * MS, 1020 * MS]}, Cause.PROCESS, "receiver"),
        ({"sender_late_ticks": [1090 * MS, 1020 * MS]}, Cause.PROCESS, "sender"),
        ({"sender_late_ticks": [2500 * MS, 1000 * MS]}, None, ""),
        ({"sender_late_ticks": [1900 * MS, 300 * MS]}, None, ""),
        ({"sender_interface_carrier_changes": 2}, Cause.CARRIER, "sender"),
        ({"sender_interface_carrier_changes": 0}, None, ""),
        ({"receiver_suspended_ns": 30 * SECOND}, Cause.SUSPENDED, "receiver"),
        ({"receiver_suspended_ns": 200 * MS}, None, ""),
        ({"sender_host_steal_share": 0.25, "sender_elapsed_ns": 4 * SECOND}, Cause.STEAL, "sender"),
        ({"sender_host_steal_share": 0.1, "sender_elapsed_ns": 4 * SECOND}, None, ""),
        ({"sender_wall_step_ns": -5 * SECOND}, Cause.CLOCK, "sender"),
        (
            {"receiver_interface_carrier_changes": 2, "receiver_late_ticks": [SECOND, SECOND]},
            Cause.PROCESS,
            "receiver",
        ),
    ],
)
def test_an_interruption_has_the_cause_that_the_record_proves(
    values: dict[str, Any], cause: Cause | None, end: str
) -> None:
    gap_record = gapped((1100, 1000), **values)
    interruption = only(gap_record)
    assert interruption is not None
    assert (interruption.cause, interruption.end) == (cause, end)
    assert asks_again(gap_record) == (cause is not None)


@pytest.mark.parametrize(
    ("protocol", "values", "proven"),
    [
        ("UDP", {"received_messages": 3000, "receiver_queue_drops": 900}, True),
        ("UDP", {"received_messages": 3000, "receiver_queue_drops": 300}, False),
        ("TCP", {"sender_tcp_end_rwnd_limited_us": 900_000}, True),
        ("TCP", {"sender_tcp_end_rwnd_limited_us": 100_000}, False),
    ],
)
def test_a_full_queue_proves_a_stopped_receiver_if_data_kept_arriving(
    protocol: str, values: dict[str, Any], proven: bool
) -> None:
    values |= {"sender_tcp_begin_rwnd_limited_us": 0}
    settings = {"protocol": protocol}
    full = only(gapped((1100, 1000), settings=settings, receiver_gap_queue_full=[1], **values))
    assert full is not None
    assert (full.cause is Cause.PROCESS) == proven
    empty = only(gapped((1100, 1000), settings=settings, receiver_gap_queue_full=[0], **values))
    assert empty is not None
    assert empty.cause is None


def test_an_interrupted_trial_is_tried_up_to_three_times_if_its_cause_is_proven() -> None:
    late: dict[str, Any] = {"receiver_late_ticks": [1100 * MS, 1000 * MS]}
    assert [asks_again(gapped((1100, 1000), attempt=n, **late)) for n in (1, 2, 3)] == [
        True,
        True,
        False,
    ]
    assert not asks_again(gapped((1100, 1000)))


# ---- round trips ---------------------------------------------------------------------------------

ASKED = {"timeout_s": 1.0, "duration_s": 10.0}


def test_a_gap_of_one_lost_request_is_loss_and_a_longer_gap_is_an_interruption() -> None:
    loss_keys: dict[str, Any] = {"end": "client", "settings": ASKED, "lost_messages": 1}
    assert only(gapped((2000, 1001), **loss_keys)) is None
    assert only(gapped((2000, 2002), **loss_keys)) is not None
    # Nothing was lost: an answer came that late.
    assert only(gapped((2000, 900), **loss_keys | {"lost_messages": 0})) is not None


def test_a_late_timer_of_the_mirror_after_the_warm_up_proves_that_the_mirror_was_stopped() -> None:
    late: dict[str, Any] = {"server_late_ticks": [3000 * MS, 1000 * MS], "lost_messages": 1}
    warm = {**ASKED, "warm_up_s": 1.0}
    interruption = only(gapped((2000, 1000), end="client", settings=warm, **late))
    assert interruption is not None
    assert (interruption.cause, interruption.end) == (Cause.PROCESS, "server")
    assert only(gapped((2000, 1000), end="client", settings=ASKED, **late)) is None


def test_a_gap_between_connections_is_an_interruption_only_with_a_proven_cause() -> None:
    tcp = {"protocol": "TCP", "duration_s": 10.0}
    connection_keys: dict[str, Any] = {"end": "client", "test": "connect", "settings": tcp}
    assert only(gapped((2000, 1000), **connection_keys)) is None
    late: dict[str, Any] = {"client_late_ticks": [2000 * MS, 1000 * MS]}
    assert only(gapped((2000, 1000), **connection_keys, **late)) is not None


# ---- systems that tell little, and values that nothing measures ----------------------------------

TCP = {"protocol": "TCP", "duration_s": 10.0}
EVERY_TRIP = [(200 * at, 195) for at in range(10)]
FAR: dict[str, Any] = {"sender_tcp_end_min_rtt_us": 200_000}


def test_gaps_are_judged_by_the_last_round_trip_if_the_shortest_is_unknown() -> None:
    values: dict[str, Any] = {"sender_tcp_end_rtt_us": 200_000}
    many: dict[str, Any] = {"receiver_gap_count": 50, "receiver_gap_total_ns": 9_750 * MS}
    assert only(gapped(*EVERY_TRIP, settings=TCP, **values, **many)) is None
    assert only(gapped(*EVERY_TRIP, settings=TCP, **many)) is not None


@pytest.mark.parametrize(("long_ms", "is_one"), [(300, False), (445, False), (455, True)])
def test_retransmitted_bytes_excuse_a_gap_of_the_usual_tcp_time_out(
    long_ms: int, is_one: bool
) -> None:
    windows: dict[str, Any] = {
        "sender_tcp_begin_bytes_retrans": 0,
        "sender_tcp_end_bytes_retrans": 1448,
    }
    short = {**TCP, "duration_s": 4.0}
    gap_record = gapped((1000, long_ms), settings=short, **windows)
    assert (only(gap_record) is not None) == is_one


def test_a_stopped_process_is_found_among_tcp_gaps_that_recur_every_round_trip() -> None:
    late: dict[str, Any] = {"sender_late_ticks": [2000 * MS, 1000 * MS]}
    gap_record = gapped(*EVERY_TRIP[:9], (2000, 1000), settings=TCP, **FAR, **late)
    interruption = only(gap_record)
    assert interruption is not None
    assert (interruption.cause, interruption.gaps, interruption.stopped_ns) == (
        Cause.PROCESS,
        1,
        SECOND,
    )
    assert asks_again(gap_record)


def test_a_clock_step_does_not_turn_tcp_gaps_of_every_round_trip_into_an_interruption() -> None:
    step: dict[str, Any] = {"sender_wall_step_ns": 600 * MS}
    assert only(gapped(*EVERY_TRIP, settings=TCP, **FAR, **step)) is None


@pytest.mark.parametrize("end", ["receiver", "client"])
def test_a_suspension_without_gaps_is_an_interruption(end: str) -> None:
    slept: dict[str, Any] = {f"{end}_suspended_ns": 30 * SECOND}
    gap_record = gapped(end=end, **slept)
    assert only(gap_record) == Interruption(
        stopped_ns=30 * SECOND,
        gaps=1,
        at_ns=None,
        window_ns=34 * SECOND,
        cause=Cause.SUSPENDED,
        end=end,
    )
    assert asks_again(gap_record)
    assert only(gapped(end=end, **{f"{end}_suspended_ns": 190 * MS})) is None


@pytest.mark.parametrize("listed", [[1.7e308, 1.7e308], [2**63, 1], [-1, 2 * SECOND], ["a", 1], 5])
def test_listed_gaps_with_invalid_times_are_ignored(listed: Any) -> None:
    assert only(gapped(receiver_gaps=listed)) is None


@pytest.mark.parametrize("huge", [1.7e308, 2**1000])
def test_impossibly_large_figures_make_no_interruption_and_hide_none(huge: Any) -> None:
    values: dict[str, Any] = {"receiver_suspended_ns": huge, "elapsed_ns": huge}
    assert only(gapped(**values)) is None
    late: dict[str, Any] = {"server_late_ticks": [SECOND, SECOND], "receiver_gap_total_ns": huge}
    settings = {"warm_up_s": huge, "duration_s": huge, "timeout_s": huge}
    assert only(gapped((1000, 1000), end="client", settings=settings, **late)) is not None


# ---- round trips beside a load ----


def beside_a_load(*gaps_ms: tuple[int, int], **values: Any) -> Record:
    """4 s of load both ways, and 10 s of round trips with gaps."""
    settings = {
        **{"protocol": "TCP", "direction": "both", "message_bytes": 1448, "duration_s": 4.0},
        **{"rate_bit_per_s": 1e4, "request_protocol": "UDP", "request_bytes": 64},
        **{"request_rate_per_s": 100.0, "request_timeout_s": 0.5},
    }
    own = {"client_elapsed_ns": 10 * SECOND, "client_lost_messages": 0, "lost_messages": 7}
    test = {"test": "latency_under_load", "settings": settings}
    return gapped(*gaps_ms, end="client", **(test | own | values))


def test_round_trips_beside_a_load_are_judged_by_their_own_window() -> None:
    """It is longer than the load's, and at 10 s a gap has to be as long as in a window of 10 s."""
    interruption = only(beside_a_load((6000, 2000)))
    assert interruption is not None
    assert (interruption.flow, interruption.window_ns, interruption.stopped_ns) == (
        "",
        10 * SECOND,
        2 * SECOND,
    )
    least_ms = round(least_ns(10 * SECOND)) // MS
    assert only(beside_a_load((6000, least_ms))) is not None
    assert only(beside_a_load((6000, least_ms - 1))) is None


def test_gaps_of_round_trips_beside_a_load_are_judged_by_the_request_rate() -> None:
    """A load of 1 message a second or less is no reason for two seconds without an answer."""
    assert only(beside_a_load((6000, 2000))) is not None
    rare = beside_a_load((6000, 2000))
    rare = replace(rare, settings={**rare.settings, "request_rate_per_s": 1.0})
    assert only(rare) is None


def test_losses_of_a_load_do_not_excuse_gaps_of_the_round_trips_beside_the_load() -> None:
    """A gap of one and a half time-outs is loss where a request was lost."""
    assert only(beside_a_load((6000, 750))) is not None
    assert only(beside_a_load((6000, 750), client_lost_messages=1)) is None
    assert only(beside_a_load((6000, 751), client_lost_messages=1)) is not None


def test_gaps_of_a_load_beside_round_trips_are_judged_like_gaps_of_a_stream() -> None:
    load_record = record(
        test="latency_under_load",
        settings={"protocol": "TCP", "request_rate_per_s": 1.0, "request_protocol": "UDP"},
        receiver_gap_count=1,
        receiver_gap_total_ns=2 * SECOND,
        receiver_gaps=[1 * SECOND, 2 * SECOND],
        client_elapsed_ns=10 * SECOND,
    )
    interruption = only(load_record)
    assert interruption is not None
    assert (interruption.window_ns, interruption.stopped_ns) == (4 * SECOND, 2 * SECOND)
