"""Data that arrive evenly show a rate in one trial, and random loss lets equal rates scatter."""

from __future__ import annotations

from math import sqrt
from typing import Any

import pytest
from drawn_causes import stream
from draws import chance, drawn
from made_arrivals import lossy, measured, steady
from made_samples import ACCOUNT, IDLE, changed

from netlab.findings.derived import StreamSample
from netlab.findings.finding import Kind
from netlab.findings.limits import limits
from netlab.findings.link_limits import fitted, link_limits
from netlab.findings.rates import Accounting
from netlab.findings.stream_limits import JudgedStream, all_limits, words
from netlab.trial.record import FlowValues

ENDS = {"sender": changed(IDLE, host="b"), "receiver": changed(IDLE, host="a")}
EVEN = measured(steady(1_000))
RATE = 6e7


def udp(trial: int, rate: float = RATE, **changes: Any) -> StreamSample:
    return stream("UDP", 1472, trial, rate, **({**ENDS, "measured": EVEN} | changes))


def found(*samples: StreamSample) -> list[Kind]:
    judged = [JudgedStream(sample, Kind.NOT_DETERMINED) for sample in samples]
    return [limit.finding.kind for limit in link_limits(judged)]


UNKNOWN = measured([])


def test_one_trial_with_even_data_shows_a_rate_and_without_it_takes_three() -> None:
    assert found(udp(1)) == [Kind.RATE_LIMIT_EITHER]
    assert found(udp(1), udp(2)) == [Kind.RATE_LIMIT_EITHER]
    plain = [udp(trial, measured=UNKNOWN) for trial in (1, 2, 3)]
    assert found(*plain[:1]) == found(*plain[:2]) == []
    assert found(*plain) == [Kind.RATE_LIMIT_EITHER]
    assert found(udp(1), plain[1]) == [], "each of them must be even"


def test_one_cell_of_several_has_a_rate_of_its_own_if_its_data_are_even() -> None:
    """Two IP versions; the other one is faster by more than a twentieth."""

    def of(version: int, rate: float, **changes: Any) -> StreamSample:
        plain = udp(1, rate, cell=f"IPv{version}", **changes)
        settings = {**plain.record.settings, "ip_version": version}
        return changed(plain, record=changed(plain.record, settings=settings))

    faster = of(4, 8e7, measured=UNKNOWN)
    assert found(faster, of(6, 6e7)) == [Kind.RATE_LIMIT_EITHER]
    assert found(faster, of(6, 6e7, measured=UNKNOWN)) == []
    assert found(faster, of(6, 7.7e7)) == []


def of_path(trial: int, random: Any, share: float, *, even: bool) -> StreamSample:
    """A flood of which the path passes a share: with a limit, or by chance."""
    each = 50.0
    values = steady(each * (1 - share)) if even else lossy(random, each, share)
    sent = round(each * 100)
    losses_share = 1 - sum(values) / 1_000 / sent
    busy = changed(ENDS["sender"], thread_ns=950_000_000)  # no limit before the loss holds it back
    arrived = {"message_bytes": 1_000, "measured": measured(values), "sender": busy}
    return udp(trial, RATE, lost_share=losses_share, **arrived)


def test_even_data_with_loss_are_of_a_limit_and_random_loss_is_of_none() -> None:
    random = chance("floods")
    for _ in range(drawn(20, 200)):
        share = random.choice((0.2, 0.4))
        kinds = {}
        for even in (True, False):
            trials = [of_path(trial, random, share, even=even) for trial in (1, 2, 3)]
            judged = [JudgedStream(trial, Kind.LOSS_LIMIT_PATH) for trial in trials]
            kinds[even] = [limit.finding.kind for limit in link_limits(judged)]
        assert kinds == {True: [Kind.RATE_LIMIT_EITHER], False: []}


@pytest.mark.parametrize(
    ("number", "of", "is_rate"), [(2, 3, True), (1, 3, False), (3, 4, True), (2, 4, False)]
)
def test_even_data_in_most_of_the_trials_with_loss_show_that_it_is_of_a_rate(
    number: int, of: int, is_rate: bool
) -> None:
    """A pause of a host makes the data of the others uneven. TCP is slower, and loses as well."""
    random = chance("policers")
    trials = [of_path(trial, random, 0.4, even=trial <= number) for trial in range(1, of + 1)]
    judged = [JudgedStream(trial, Kind.LOSS_LIMIT_PATH) for trial in trials]
    tcp = stream("TCP", 1448, 1, 0.85 * RATE, **ENDS)
    judged.append(JudgedStream(tcp, Kind.CONGESTION))
    kinds = [limit.finding.kind for limit in link_limits(judged)]
    assert kinds == ([Kind.RATE_LIMIT_EITHER] if is_rate else [])


def before_loss(trial: int, random: Any, share: float, sent: float, **end: Any) -> StreamSample:
    """A flood at a rate in bytes of messages, of which chance loses a share."""
    values = lossy(random, sent / 8e5, share)
    arrived = sum(values) / 1_000
    losses_share = 1 - arrived / round(sent / 8e3)
    ends = {**ENDS, "sender": changed(ENDS["sender"], **end)}
    own = {"lost_share": losses_share, "measured": measured(values), **ends}
    return stream("UDP", 1_000, trial, 8e3 * arrived, **own)


def test_a_limit_before_random_loss_is_found_by_the_rate_at_which_the_sender_sent() -> None:
    """Its thread slept, although it had more to send; one that is busy may send no more."""
    random = chance("before loss")
    for _ in range(drawn(20, 200)):
        share, sent = random.choice((0.1, 0.3)), random.uniform(2e7, 6e7)
        slept = random.choice((0.05, 0.08, 0.12, 0.5))
        busy = {"thread_ns": round((1 - slept) * 1e9), "run_queue_delay_ns": 0}
        trials = [before_loss(n, random, share, sent, **busy) for n in (1, 2, 3)]
        judged = [JudgedStream(trial, Kind.LOSS_LIMIT_PATH) for trial in trials]
        limits_found = link_limits(judged)
        assert [it.finding.kind for it in limits_found] == [Kind.RATE_LIMIT_EITHER] * (slept >= 0.1)
        for limit in limits_found:
            on_wire = sent * (1_000 + 66) / 1_000
            rate = limit.finding.evidence["rate_limit_bit_per_s"]
            assert rate == pytest.approx(on_wire, rel=0.005)


@pytest.mark.parametrize("wait", ["run_queue_delay_ns", "stalled"])
def test_a_sender_that_did_not_run_did_not_sleep(wait: str) -> None:
    random = chance("no sleep")
    own = FlowValues({"sender_stalled_ns": 0.15e9 * (wait == "stalled")}, "sender_")
    away = {"run_queue_delay_ns": 0.15e9 * (wait != "stalled"), "measured": own}
    for busy, found_one in ((0.70, True), (0.80, False)):
        end = {"thread_ns": busy * 1e9, **away}
        trials = [before_loss(n, random, 0.2, 3e7, **end) for n in (1, 2, 3)]
        judged = [JudgedStream(trial, Kind.LOSS_LIMIT_PATH) for trial in trials]
        assert bool(link_limits(judged)) is found_one


# ---- several streams, and senders that stopped ---------------------------------------------------


def test_even_data_of_several_tcp_streams_have_a_rate_though_no_rule_knows_their_limit() -> None:
    random = chance("several")
    for _ in range(drawn(20, 200)):
        even, held = random.random() < 0.5, random.choice((0, 15_000, 25_000, 400_000))
        account = changed(ACCOUNT, **{random.choice(("rwnd", "sndbuf")) + "_limited_us": held})
        more = {"streams": 4, "tcp": account, "measured": EVEN if even else UNKNOWN}
        trials = [stream("TCP", 1448, trial, 5e7, **(ENDS | more)) for trial in (1, 2, 3)]
        kinds = [
            limit.finding.kind for limit in link_limits([JudgedStream(it, None) for it in trials])
        ]
        assert kinds == [Kind.RATE_LIMIT_EITHER] * (even and held <= 20_000), (even, held)


def test_trials_in_which_short_stops_of_the_sender_cost_half_show_no_rate() -> None:
    """The missing throughput is 37.3 % of the ceiling."""
    for stalled, kinds in ((0.18, [Kind.RATE_LIMIT_EITHER]), (0.19, [])):
        own = FlowValues({"sender_stalled_ns": stalled * 1e9}, "sender_")
        sender = changed(ENDS["sender"], measured=own)
        assert found(*[udp(trial, sender=sender) for trial in (1, 2, 3)]) == kinds


# ---- rates that random loss scatters -------------------------------------------------------------


def scattered(offset: float, lost_apart: float | None) -> bool:
    """Whether three floods have a rate if one is below the others by this share."""
    streams = [
        JudgedStream(udp(trial, rate, measured=UNKNOWN), None, lost_apart=lost_apart)
        for trial, rate in ((1, RATE), (2, RATE), (3, (1 - offset) * RATE))
    ]
    return fitted(streams, streams, Accounting.WIRE) is not None


def test_equal_rates_differ_by_four_standard_deviations_more_after_random_loss() -> None:
    """Of 5,096 messages a tenth is lost: 0.47 % of the rate is one standard deviation."""
    sent = round(RATE / 8 / 1472)
    deviation = sqrt(0.1 / 0.9 / sent)
    assert scattered(0.0049, None) and not scattered(0.0051, None)
    assert scattered(0.005 + 3.9 * deviation, 0.1)
    assert not scattered(0.005 + 4.1 * deviation, 0.1)


def test_a_path_that_loses_nothing_or_all_scatters_no_rate() -> None:
    for lost in (None, 0.0, 1.0):
        assert JudgedStream(udp(1), None, lost_apart=lost).scatter_share == 0


# ---- where other traffic is ----------------------------------------------------------------------


def beside(sent_share: float) -> StreamSample:
    """Half of the link is others' traffic; a share of it is sent by the sender's interface."""
    sample = udp(1, 4e7, likely_others_share=0.5, others=())
    return changed(sample, _likely_others=(0.5, 0.0, 0.5 * sent_share))


@pytest.mark.parametrize(("share", "place"), [(0.5, "sender-queue"), (0.49, "path")])
def test_other_traffic_is_in_the_senders_queue_if_its_interface_sends_half_of_it(
    share: float, place: str
) -> None:
    sample = beside(share)
    assert sample.others_are_sent_here is (place == "sender-queue")
    assert words(Kind.OTHER_TRAFFIC, [sample])["cause_place"] == place
    assert words(Kind.OTHER_TRAFFIC, [sample, beside(0.0)])["cause_place"] == "path"
    assert "cause_place" not in words(Kind.WIRE_CEILING, [sample])


def test_other_traffic_claims_the_place_where_it_is_and_no_other_limit_of_this_stage() -> None:
    (finding,) = [f for f in limits([beside(1.0)]) if f.kind is Kind.OTHER_TRAFFIC]
    assert finding.words["cause_place"] == "sender-queue"
    assert all_limits(Kind.OTHER_TRAFFIC, beside(1.0)) == (Kind.OTHER_TRAFFIC,)
