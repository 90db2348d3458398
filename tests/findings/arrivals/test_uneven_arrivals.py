"""Notes about data that pause, or arrive at two rates, with the share that is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from draws import chance, drawn
from made_arrivals import (
    INTERVAL_NS,
    MESSAGE,
    at_two_rates,
    lossy,
    measured,
    of_tcp,
    of_udp,
    paused,
    steady,
)
from made_samples import ACCOUNT, IDLE, changed

from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Kind
from netlab.findings.uneven import pauses_of, stepped, uneven
from netlab.report.text.findings import statement
from netlab.results.tcp_series import TcpSeries
from netlab.trial.record import Value

USUAL = 1e5
SOME = [0.0] * 10 + [USUAL] * 90
"""One pause of a tenth of the window."""


def of_cell(*samples: StreamSample) -> list[Finding]:
    """The notes about trials of one cell."""
    return [
        *uneven(
            changed(sample, trial=number, record=replace(sample.record, trial=number))
            for number, sample in enumerate(samples, 1)
        )
    ]


def only(*samples: StreamSample) -> Finding:
    (finding,) = of_cell(*samples)
    return finding


# ---- pauses --------------------------------------------------------------------------------------


def pauses(random: Random) -> tuple[list[float], float]:
    """A series with pauses, and the share of the window that they take."""
    period, lasts = random.choice((15, 20, 25)), random.randint(2, 6)
    begins = [*range(random.randrange(2, 8), 100 - lasts - 1, period)]
    values = steady(random.uniform(20, 300), 100, random.random())
    return paused(values, begins, lasts, kept=random.random() < 0.5), lasts * len(begins) / 100


def test_drawn_pauses_are_found_with_their_share_of_the_window() -> None:
    random = chance("pauses")
    for _ in range(drawn(60, 600)):
        values, share = pauses(random)
        of = random.choice((of_tcp, of_udp))
        finding = only(*[of(values)] * 2, of(values))
        assert (finding.kind, finding.severity) == (Kind.PATH_PAUSES, "note")
        assert finding.evidence["paused_share"] == pytest.approx(share, abs=0.02)
        assert finding.trials == (("a", 1), ("a", 2), ("a", 3))


def test_pauses_are_counted_over_the_trials_of_a_cell_and_their_share_is_the_mean_of_these() -> (
    None
):
    finding = only(of_tcp(SOME), of_tcp([USUAL] * 100), of_tcp(SOME), of_tcp(SOME))
    assert finding.evidence["paused_share"] == pytest.approx(0.1)
    assert (finding.evidence["trials"], finding.evidence["of_trials"]) == (3, 4)
    assert finding.trials == (("a", 1), ("a", 3), ("a", 4))
    assert statement(finding).startswith("in 3 of 4 trials: data paused again and again, 10 %")
    assert of_cell(of_tcp(SOME), of_tcp([USUAL] * 100), of_tcp(SOME)) == [], "two are too few"


@pytest.mark.parametrize(("lasts", "found"), [(2, True), (1, False)])
def test_pauses_take_at_least_two_hundredths_of_the_windows(lasts: int, found: bool) -> None:
    """Three in one of three trials: six, or three, of two hundred times."""
    values = paused([USUAL] * 200, (20, 40, 60), lasts, kept=False)
    assert bool(of_cell(*[of_tcp(values), of_tcp([USUAL] * 100), of_tcp([USUAL] * 100)])) is found


@pytest.mark.parametrize(
    ("low", "number", "share"),
    [
        ([0.149], 1, 0.00851),
        ([0.151], 0, 0.0),
        ([0.49, 0.1, 0.49], 1, 0.0192),
        ([0.74, 0.1, 0.51], 1, 0.0165),  # with the times beside it
        ([0.74, 0.74, 0.1, 0.74, 0.74], 1, 0.0142),
        ([0.1, 0.51, 0.1], 2, 0.0229),
    ],
)
def test_a_pause_is_a_run_of_less_than_half_with_less_than_15_percent_in_it(
    low: Sequence[float], number: int, share: float
) -> None:
    values = [USUAL] * 100
    values[50 : 50 + len(low)] = [USUAL * part for part in low]
    found, missing = pauses_of(of_tcp(values))
    assert (found, round(missing, 5)) == (number, share)


def test_times_with_few_receive_calls_are_put_together_before_a_pause_is_looked_for() -> None:
    """Messages of 100 kB: one in each time, and none in a tenth of them."""
    rare = paused([USUAL] * 100, range(5, 95, 10), 1, kept=False)
    assert pauses_of(of_tcp(rare, call=USUAL / 4))[0] == 9
    assert pauses_of(of_tcp(rare, call=USUAL)) == (0, 0.0)
    assert pauses_of(of_tcp([USUAL] * 47, call=USUAL)) == (0, 0.0), "eleven times are too few"


def test_times_over_tcp_have_two_round_trips() -> None:
    far = TcpSeries(time_us=[0], rtt_us=[4 * INTERVAL_NS // 1000])
    bursts = [0.0 if at % 4 else 4 * USUAL for at in range(100)]
    assert pauses_of(of_tcp(bursts))[0] > 10
    assert pauses_of(of_tcp(bursts, tcp_series=far)) == (0, 0.0)


# ---- what explains pauses ------------------------------------------------------------------------


def waiting(share: float) -> Any:
    return changed(IDLE, run_queue_delay_ns=round(share * 1e9))


def stalled(share: float) -> Any:
    own = measured([], sender_stalled_ns=share * 1e9)
    return changed(IDLE, measured=replace(own, prefix="sender_"))


@pytest.mark.parametrize("end", ["sender", "receiver"])
@pytest.mark.parametrize("cause", [waiting, stalled])
def test_waits_and_stalls_of_an_end_explain_pauses_from_three_quarters_of_their_share(
    end: str, cause: Any
) -> None:
    assert pauses_of(of_tcp(SOME, **{end: cause(0.074)})) == (1, 0.1)
    assert pauses_of(of_tcp(SOME, **{end: cause(0.076)})) == (0, 0.0)


@pytest.mark.parametrize(("lost", "found"), [(0.09, True), (0.11, False)])
def test_what_was_lost_in_a_pause_was_not_held(lost: float, found: bool) -> None:
    """The pauses take a fifth of the window."""
    values = ([20.0 * MESSAGE] * 16 + [0.0] * 4) * 5
    kinds = {each.kind for each in of_cell(of_udp(values, lost=lost))}
    assert (Kind.PATH_PAUSES in kinds) is found


def test_losses_of_tcp_explain_pauses_but_needless_repeats_do_not() -> None:
    resent = changed(ACCOUNT, retransmissions=3)
    assert pauses_of(of_tcp(SOME, tcp=resent)) == (0, 0.0)
    assert pauses_of(of_tcp(SOME, tcp=resent, duplicate_packets=3)) == (1, 0.1)


def test_a_stop_of_data_has_its_own_finding_and_one_host_has_no_path() -> None:
    sample = of_tcp(SOME)
    gaps: dict[str, Value] = {
        "elapsed_ns": 10**9,
        "receiver_gaps": [0, 10**8],
        "receiver_gap_count": 1,
    }
    record = replace(sample.record, values={**gaps, "receiver_gap_total_ns": 10**8})
    assert pauses_of(changed(sample, record=record)) == (0, 0.0)
    assert pauses_of(changed(sample, same_host=True)) == (0, 0.0)


# ---- two rates -----------------------------------------------------------------------------------


def test_drawn_rates_are_found_with_the_depth_of_the_lower_one() -> None:
    random = chance("rates")
    for _ in range(drawn(60, 600)):
        each, depth = random.uniform(60, 300), random.choice((0.1, 0.2, 0.4, 0.8))
        values = steady(each, 100, random.random())
        period = random.choice((20, 25, 30, 50))
        slow = round(period * random.uniform(0.3, 0.7))
        slower = at_two_rates(values, period, slow, depth, random.randrange(period))
        lost = 1 - sum(slower) / sum(values)
        sample = of_udp(slower, lost=random.choice((0.0, lost)))
        finding = only(sample)
        assert (finding.kind, finding.severity) == (Kind.TWO_RATES, "note")
        assert finding.evidence["depth_share"] == pytest.approx(depth, abs=0.02)
        assert finding.trials == (("a", 1),)


def test_the_depth_is_the_median_of_the_trials_that_show_two_rates() -> None:
    trials = [of_udp(at_two_rates([USUAL] * 100, 20, 10, depth)) for depth in (0.2, 0.3, 0.6)]
    finding = only(*trials, of_udp([USUAL] * 100))
    assert finding.evidence["depth_share"] == pytest.approx(0.3)
    assert finding.trials == (("a", 1), ("a", 2), ("a", 3))
    assert statement(finding).startswith("in 3 of 4 trials: data arrived at two rates, the lower")


@pytest.mark.parametrize(
    ("depth", "found"), [(0.051, True), (0.049, False), (0.94, True), (0.96, False)]
)
def test_the_rates_are_a_twentieth_apart_and_the_lower_one_is_no_pause(
    depth: float, found: bool
) -> None:
    sample = of_udp(at_two_rates([USUAL] * 100, 20, 10, depth))
    assert (stepped(sample) is not None) is found


def test_the_step_is_larger_than_two_and_a_half_receive_calls_in_times_of_4_percent() -> None:
    values = at_two_rates([USUAL] * 100, 20, 10, 0.1)  # four of them have a step of 40 kB
    assert stepped(of_udp(values, call=15_900)) == pytest.approx(0.1)
    assert stepped(of_udp(values, call=16_100)) is None


@pytest.mark.parametrize(("slow", "found"), [(9, True), (6, False), (79, True), (85, False)])
def test_both_rates_have_more_than_8_percent_of_the_times(slow: int, found: bool) -> None:
    """The usual rate is that of the fifth of the times with the highest."""
    sample = of_udp(at_two_rates([USUAL] * 100, 100, slow, 0.3))
    assert (stepped(sample) is not None) is found


@pytest.mark.parametrize(("between", "found"), [(20, True), (21, False)])
def test_at_most_a_fifth_of_the_times_is_between_both_rates(between: int, found: bool) -> None:
    values = [0.85 * USUAL] * between + at_two_rates([USUAL] * (100 - between), 20, 10, 0.3)
    assert (stepped(of_udp(values)) is not None) is found


def test_rates_that_change_evenly_over_the_window_are_not_two() -> None:
    for low in (0.2, 0.5, 0.8):
        values = [USUAL * (low + (1 - low) * at / 99) for at in range(100)]
        assert of_cell(of_udp(values)) == []


def test_tcp_has_rates_of_its_own_and_hosts_that_wait_explain_a_lower_one() -> None:
    values = at_two_rates([USUAL] * 100, 20, 10, 0.1)  # costs a twentieth
    assert stepped(of_tcp(values)) is None
    assert stepped(of_udp(values, sender=waiting(0.024))) == pytest.approx(0.1)
    assert stepped(of_udp(values, sender=waiting(0.026))) is None
    # An end without a CPU for more than a twentieth of the time explains any.
    deep = at_two_rates([USUAL] * 100, 20, 10, 0.4)
    assert stepped(of_udp(deep, sender=waiting(0.05))) == pytest.approx(0.4)
    assert stepped(of_udp(deep, sender=waiting(0.051))) is None
    assert stepped(of_udp(values, same_host=True)) is None


# ---- neither -------------------------------------------------------------------------------------


def test_random_loss_and_its_bursts_of_bad_luck_are_neither_pauses_nor_two_rates() -> None:
    random = chance("losses")
    for _ in range(drawn(60, 500)):
        lost, each = random.choice((0.01, 0.02, 0.1, 0.4)), random.uniform(10, 200)
        assert of_cell(of_udp(lossy(random, each, lost), lost=lost)) == []


def test_random_loss_at_times_is_no_lower_rate_of_the_path() -> None:
    """A part of the packets is lost, half of the time: a limit would pass the others evenly."""
    random, number = chance("at times"), drawn(40, 400)
    found = 0
    for _ in range(number):
        each, share = random.uniform(100, 200), random.choice((0.2, 0.4))
        full, rest = steady(each), lossy(random, each, share)
        values = [full[at] if at % 30 < 15 else rest[at] for at in range(100)]
        found += bool(of_cell(of_udp(values, lost=1 - sum(values) / sum(full))))
    assert found <= number // 20


def test_healthy_streams_with_beats_of_messages_and_calls_have_no_note() -> None:
    random = chance("healthy")
    for _ in range(drawn(80, 800)):
        call = random.choice((1, 1, 4, 16, 64))
        messages = steady(random.uniform(0.3, 30), 100, random.random())
        values = [MESSAGE * call * value / MESSAGE for value in messages]
        sample = random.choice((of_tcp, of_udp))(values, call=MESSAGE * call)
        assert of_cell(sample, sample, sample) == [], (call, sum(values))


def test_what_waited_comes_within_the_time_in_which_a_pause_ends() -> None:
    """Six pauses of 1.7 times; then the link sends half as much again as usual."""
    values = [USUAL] * 100
    for at in range(5, 100, 16):
        values[at] = 0.0
        values[at + 1] = 0.3 * 1.5 * USUAL
        values[at + 2 : at + 4] = [1.5 * USUAL] * 2
    finding = only(*[of_tcp(values)] * 2, of_tcp(values))
    assert finding.evidence["paused_share"] == pytest.approx(6 * 1.7 / 100, abs=0.004)
