"""Findings about rate searches have figures, words and trials of the searches that show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from draws import chance, seeds
from made_findings import plan_of, run_of
from made_readings import result
from made_searches import cell_of, one_trial

from netlab.findings.analysis import Analysis
from netlab.findings.finding import Group, Kind, finding
from netlab.findings.search_limits import SizeGroup, of_searches, rates_of, sample_of, search_limits
from netlab.findings.search_more import beyond, doubts
from netlab.findings.stream_rules import SATURATED
from netlab.report.text.findings import statement
from netlab.trial.record import Status, Value

LL = Group("LL")
CELL = {size: cell_of(size).key for size in (64, 128, 256, 512)}
_Values = Mapping[str, Value]


def searches(*searched: tuple[int, int, _Values], source: str | None = None) -> Analysis:
    """A run of searches: frame size, number of the trial, values."""
    line: dict[str, Value] = {"line_frames_per_s": 100_000.0, "line_rate_bit_per_s": 1e9}
    records = [result(cell_of(size), n, {**line, **values}) for size, n, values in searched]
    cells = [cell_of(size) for size in dict.fromkeys(size for size, _, _ in searched)]
    return run_of(plan_of(cells, repeats=2, source=source), records)


def found(limit: str, per_s: float, **more: Value) -> dict[str, Value]:
    return {"limit": limit, "frames_per_s": per_s, **more}


def tries(*verdicts: int, **more: list[int]) -> dict[str, Value]:
    """Tries of a search at 10, 20, … % of the line rate; verdicts: 0 passed, 1 lost, 2 absorbed,
    3 dropped by our receiver.
    """
    none = [0] * len(verdicts)
    columns: dict[str, Value] = {
        f"trial_{name}": none for name in ("duration_s", "sent_frames", "received_frames")
    }
    columns["trial_line_share"] = [(number + 1) / 10 for number in range(len(verdicts))]
    columns["trial_verdict"] = [*verdicts]
    return {**columns, "trial_queue_ns": none, **{f"trial_{name}": more[name] for name in more}}


def test_a_search_that_our_own_hosts_ended_names_the_limit() -> None:
    record = replace(
        result(cell_of(64), 2, {}),
        status=Status.FAILED,
        reason="tester-bound",
        detail="receiver-bound: busiest core 100 %",
    )
    sample = sample_of(record)
    assert sample is not None
    assert sample.record.key == (CELL[64], 2)
    assert sample.frame_bytes == 64
    assert (sample.limit, sample.found) == ("receiver-bound", False)


def test_one_bit_rate_has_its_figures_and_every_way_to_count_bytes_that_agrees() -> None:
    rates = {64: 40_000.0, 128: 20_000.0, 256: 10_000.0}
    run = searches(
        *(
            (size, 1, found("device", rate, upper_frames_per_s=1.05 * rate, limit_core_share=0.5))
            for size, rate in rates.items()
        )
    )
    figures = {"policed_bit_per_s": 20.48e6, "busiest_core_share": 0.5}
    figures |= {"least_found_frames_per_s": 10_000, "most_found_frames_per_s": 40_000}
    words = {
        "sizes": "at every frame size",
        "accounted": "in frames with FCS or in frames without FCS",
        "rates": "40,000/s at 64 bytes (40 %), 20,000/s at 128 bytes (20 %), "
        "10,000/s at 256 bytes (10 %)",
    }
    cells = tuple(CELL[size] for size in rates)
    trials = tuple((cell, 1) for cell in cells)
    expected = finding(Kind.SEARCH_LIMIT_BIT_RATE, LL, cells, figures, words, trials)
    assert list(search_limits(run)) == [expected]


def test_a_device_without_one_rate_is_named_if_a_core_is_saturated_or_every_core_idle() -> None:
    cores = {64: SATURATED, 128: 0.9, 256: 0.89}
    for size, core_share in cores.items():
        values = found("device", 50_000, limit_core_share=core_share, limit_host="router")
        (device,) = search_limits(searches((size, 1, values)))
        word = {64: {"device": "router"}, 128: {}, 256: {"idle_device": "router"}}[size]
        rates = f"50,000/s at {size} bytes (50 %)"
        words = {"sizes": f"at {size} bytes", "rates": rates, **word}
        figures = {f"{end}_found_frames_per_s": 50_000 for end in ("least", "most")}
        trials = ((CELL[size], 1),)
        expected = {**figures, "busiest_core_share": core_share}
        assert device == finding(
            Kind.SEARCH_LIMIT_DEVICE, LL, (CELL[size],), expected, words, trials
        )


@pytest.mark.parametrize(
    ("values", "queue_ns"),
    [
        (tries(0, 2, 2, queue_ns=[9, 7, 8]) | {"upper_frames_per_s": 20_000.0}, 7),
        (tries(0, 1, 2, queue_ns=[9, 7, 8]) | {"upper_frames_per_s": 20_000.0}, None),
        (tries(0, 2, 2, queue_ns=[9, 7, 8]) | {"upper_frames_per_s": 50_000.0}, None),
        (tries(0, 2, 2, queue_ns=[9, 7, 8]), None),
    ],
)
def test_a_queue_is_reported_if_it_grew_without_loss_at_the_lowest_rate_that_failed(
    values: dict[str, Value], queue_ns: float | None
) -> None:
    device, *queued = search_limits(searches((64, 1, found("device", 10_000, **values))))
    assert device.kind is Kind.SEARCH_LIMIT_DEVICE
    words = {"sizes": "at 64 bytes", "rates": "10,000/s at 64 bytes (10 %)"}
    figures, cell = {"queue_ns": queue_ns}, CELL[64]
    expected = finding(Kind.SEARCH_LIMIT_QUEUE, LL, (cell,), figures, words, ((cell, 1),))
    assert queued == ([] if queue_ns is None else [expected])


SOCKETS: dict[str, Value] = {
    "sender_send_buffer_bytes": 40_000,
    "receiver_receive_buffer_bytes": 24_000,
}


@pytest.mark.parametrize(
    ("sockets", "queue_ms", "queue_bytes"),
    [
        (SOCKETS, 101, 64_640),  # 10,000 frames a second of 64 bytes: 1010 frames
        (SOCKETS, 100, None),  # as much as the two sockets hold
        ({}, 500, None),
    ],
)
def test_a_queue_is_the_devices_only_if_it_holds_more_than_our_own_sockets(
    sockets: dict[str, Value], queue_ms: int, queue_bytes: float | None
) -> None:
    queue_ns = queue_ms * 1_000_000
    values = tries(0, 2, 2, queue_ns=[0, queue_ns, queue_ns]) | {"upper_frames_per_s": 20_000.0}
    run = searches((64, 1, found("device", 10_000, **values, **sockets)))
    device, queued = search_limits(run)
    assert queued.evidence.get("queue_bytes") == queue_bytes
    texts = [statement(each) for each in (device, queued)]
    if queue_bytes is None:
        assert texts[0].startswith("a queue in the device or in our own hosts is the limit")
        assert "a queue in the device or in our hosts grew by" in texts[1]
        assert not [text for text in texts if "the device is" in text or "its queue" in text]
    else:
        assert texts[0].startswith("the device is the limit at 64 bytes")
        assert "the device lost nothing at the next higher rate, but its queue grew" in texts[1]


@pytest.mark.parametrize("seed", seeds(3, 30))
def test_drawn_queues_that_our_own_sockets_can_hold_are_never_called_the_devices(seed: int) -> None:
    rng, of_device = chance(seed), 0
    for _ in range(30):
        size, rate = rng.choice([64, 512]), rng.uniform(1000, 90_000)
        streams, socket = rng.choice([1, 4]), round(10 ** rng.uniform(3, 7))
        queue_ns = round(10 ** rng.uniform(6, 9))
        waiting = rate * queue_ns / 1e9 * size
        values = tries(2, 2, queue_ns=[queue_ns] * 2) | {"upper_frames_per_s": 10_000.0}
        values |= {"sender_send_buffer_bytes": socket, "receiver_receive_buffer_bytes": socket}
        cell = cell_of(size, streams=streams)
        line: dict[str, Value] = {"line_frames_per_s": 100_000.0, "line_rate_bit_per_s": 1e9}
        records = [result(cell, 1, {**line, **found("device", rate, **values)})]
        _, queued = search_limits(run_of(plan_of([cell]), records))
        named = "the device lost nothing" in statement(queued)
        assert named is (waiting > 2 * streams * socket)
        of_device += named
    assert 0 < of_device < 30


def test_a_line_rate_and_a_sender_faster_than_it_are_reported_with_the_rate_of_the_line() -> None:
    values, cell = found("line rate", 99_000), CELL[64]
    words, figures = {"sizes": "at 64 bytes"}, {"link_rate_bit_per_s": 1e9}
    rates = {"rates": "99,000/s at 64 bytes (99 %)"}
    known = searches((64, 1, values))
    assert list(search_limits(known)) == [
        finding(Kind.SEARCH_LIMIT_LINE_RATE, LL, (cell,), figures, {**words, **rates}, ((cell, 1),))
    ]
    imported = searches((64, 1, values), source="a table")
    assert list(search_limits(imported)) == []
    values |= {"link_paced": False, "sender_send_buffer_bytes": 212_992}
    assert list(doubts(searches((64, 1, values)))) == [
        finding(Kind.SEARCH_DOUBT_OUTRUN, LL, (cell,), figures, words, ((cell, 1),))
    ]
    assert list(doubts(searches((64, 1, values), source="a table"))) == []


def test_a_capped_buffer_is_reported_only_with_its_requested_and_effective_size() -> None:
    sizes: dict[str, Value] = {"requested_bytes": 4096, "bytes": 1024}
    for left_out, number in (("", 1), ("requested_bytes", 0), ("bytes", 0)):
        values = {f"receiver_receive_buffer_{n}": v for n, v in sizes.items() if n != left_out}
        values["receiver_receive_buffer_capped"] = 1
        run = searches((64, 1, found("line rate", 99_000, **values)))
        figures = {"asked_buffer_bytes": 4096, "least_buffer_bytes": 1024}
        assert [each.evidence for each in doubts(run)] == [figures] * number


def drops(*verdicts: int, **counts: list[int]) -> dict[str, Value]:
    return tries(*verdicts, **{f"{name}_dropped_frames": counts[name] for name in counts})


def test_the_hosts_at_the_limit_are_named_and_the_place_where_receivers_dropped_most() -> None:
    """The socket dropped 4 + 4 frames in tries that failed because of our receiver; softnet 5."""
    counts = {
        "server_softnet": [3, 900, 2],
        "server_queue": [1, 900, 0],
        "server_socket": [0, 0, 4],
        "observed_1_interface": [900, 0, 900],
        "client_interface": [900],
    }
    first, second = drops(3, 0, 3, **counts), drops(3, 0, 3, server_socket=[4, 0, 0])
    run = searches(
        (64, 1, found("receiver-bound", 30_000, limit_host="beta", **first)),
        (64, 2, found("receiver-bound", 20_000, limit_host="gamma", **second)),
        (128, 1, found("generator-bound", 20_000, limit_host="alpha", **first)),
    )
    sender, receiver = search_limits(run)
    of_sender = {"sizes": "at 128 bytes", "at_host": "alpha"}
    of_receiver = {"sizes": "at 64 bytes (in 2 of 2 trials)", "at_host": "beta, gamma"}
    of_receiver["place"] = "in its socket"
    rate = [
        {f"{end}_found_frames_per_s": each for end in ("least", "most")} for each in (2e4, 25e3)
    ]
    one, both = ((CELL[128], 1),), ((CELL[64], 1), (CELL[64], 2))
    of_sender["rates"] = "20,000/s at 128 bytes (20 %)"
    of_receiver["rates"] = "25,000/s at 64 bytes (25 %)"
    kinds = (Kind.SEARCH_LIMIT_SENDER, Kind.SEARCH_LIMIT_RECEIVER)
    assert sender == finding(kinds[0], LL, (CELL[128],), rate[0], of_sender, one)
    assert receiver == finding(kinds[1], LL, (CELL[64],), rate[1], of_receiver, both)


@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({}, None),
        (drops(3, server_socket=[0]), None),
        (drops(3, server_socket=[1]), "in its socket"),
    ],
)
def test_a_receiver_without_dropped_frames_or_name_has_no_place_and_no_host(
    values: dict[str, Value], place: str | None
) -> None:
    named: dict[str, Value] = {"limit_host": "beta"}
    run = searches(
        (64, 1, found("receiver-bound", 30_000, **values)),
        (64, 2, found("receiver-bound", 30_000, **named)),
    )
    (receiver,) = search_limits(run)
    assert (receiver.words.get("place"), receiver.words.get("at_host")) == (place, None)


def overload(*each: tuple[int, float, float, float]) -> dict[str, Value]:
    """Tries beyond the found rate of 10,000 frames/s: verdict, frames/s sent and received, length.

    Verdicts: 1 lost by the device, 3 and 4 by our hosts; the line carries 100,000 frames/s.
    """
    columns: dict[str, Value] = {
        "loss_verdict": [verdict for verdict, _, _, _ in each],
        "loss_line_share": [sent / 100_000 for _, sent, _, _ in each],
        "loss_sent_frames": [sent * length_s for _, sent, _, length_s in each],
        "loss_received_frames": [out * length_s for _, _, out, length_s in each],
        "loss_duration_s": [length_s for _, _, _, length_s in each],
        "loss_queue_ns": [0 for _ in each],
    }
    return found("device", 10_000, **columns)


def test_overload_is_told_by_its_slowest_rate_or_else_by_the_loss_at_the_highest_rate() -> None:
    slowed = overload(
        (1, 100_000, 6000, 0.5),
        (1, 50_000, 5000, 0.5),
        (1, 11_000, 4000, 0.5),
        (1, 10_900, 1000, 0.5),  # too near the found rate
        (1, 90_000, 1000, 0),
    )
    steady = overload((1, 12_000, 9000, 1), (1, 20_000, 9500, 1), (1, 15_000, 9400, 1))
    searched = [
        (64, 1, slowed),
        (64, 2, overload((1, 20_000, 5000, 2))),
        (128, 1, steady),
        (256, 1, overload((3, 100_000, 1000, 1), (4, 50_000, 1000, 1), (0, 25_000, 25_000, 1))),
    ]
    first, second, third = (CELL[size] for size in (64, 128, 256))
    of_slowed = {"sizes": "at 64 bytes (in 2 of 2 trials)"}
    of_slowed["overloads"] = "4,500/s of 15,500/s at 64 bytes (10,000/s pass without loss)"
    of_steady = {"sizes": "at 128 bytes", "losses": "52.5 % of 20,000/s at 128 bytes"}
    of_own = {"sizes": "at 256 bytes", "shares": "50 %, 100 %"}
    least, most = {"least_forwarded_share": 0.4}, {"most_lost_share": 0.525}
    twice = ((first, 1), (first, 2))
    assert list(beyond(searches(*searched))) == [
        finding(Kind.FRAME_LOSS_OVERLOAD, LL, (first,), least, of_slowed, twice),
        finding(Kind.FRAME_LOSS_STEADY, LL, (second,), most, of_steady, ((second, 1),)),
        finding(Kind.FRAME_LOSS_OWN_HOSTS, LL, (third,), {}, of_own, ((third, 1),)),
    ]
    assert list(beyond(searches(*searched, source="a table"))) == []


@pytest.mark.parametrize(
    ("limit", "frames", "words"),
    [
        ("device", None, None),
        ("line rate", 7.0, None),
        ("device", 7.0, {"bursts": "7 frames of 64 bytes (0 of them queued in the device)"}),
        ("receiver-bound", 7.0, {"because": "our own receiver dropped frames of the burst"}),
    ],
)
def test_a_burst_is_told_if_the_device_or_our_hosts_limited_it(
    limit: str, frames: float | None, words: dict[str, str] | None
) -> None:
    burst: dict[str, Value] = {"back_to_back_limit": limit}
    burst |= {} if frames is None else {"back_to_back_frames": frames}
    told = [each.words for each in beyond(searches((64, 1, found("device", 10_000, **burst))))]
    assert told == ([] if words is None else [{"sizes": "at 64 bytes", **words}])


SIZES = (64, 128, 256, 512, 1024)


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ((128,), "at 128 bytes"),
        (SIZES, "at every frame size"),
        ((512, 1024), "from 512 bytes upwards"),
        ((256, 512, 1024), "from 256 bytes upwards"),
        ((128, 256, 512), "from 128 to 512 bytes"),
        ((64, 128), "at 64 and 128 bytes"),
        ((64, 256, 512), "at 64, 256 and 512 bytes"),
    ],
)
def test_frame_sizes_are_told_as_a_range_if_three_neighbours_or_all_upwards_show_a_finding(
    sizes: tuple[int, ...], text: str
) -> None:
    trials = {size: one_trial(size) for size in SIZES}
    group = SizeGroup(group=LL, sizes=tuple((trial,) for trial in trials.values()))
    shown = group.where(lambda trial: trial.frame_bytes in sizes)
    assert of_searches(Kind.SEARCH_LIMIT_NONE, group, shown, {}).words == {"sizes": text}


def test_found_rates_are_told_only_if_each_rate_and_its_share_of_the_line_is_known() -> None:
    first = one_trial(64, 7440, 148_800)
    second = [one_trial(128, per_s, line) for per_s, line in ((84, 840), (84, None), (None, 84))]
    group = [SizeGroup(group=LL, sizes=((first,), (other,))) for other in second]
    texts = [rates_of(each.where(lambda trial: True)) for each in group]
    assert texts == ["7,440/s at 64 bytes (5 %), 84/s at 128 bytes (10 %)", None, None]
