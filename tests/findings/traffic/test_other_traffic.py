"""Findings report other traffic with its host, direction and rate."""

from __future__ import annotations

from typing import Any

import pytest
from draws import seeds
from made_findings import plan_of, run_of
from made_interfaces import FAMILY, Wire, cell_of_wire, drawn_wire, record_of_wire
from made_samples import changed, udp

from netlab.ethernet import Link
from netlab.findings.analysis import findings
from netlab.findings.derived import StreamSample, samples
from netlab.findings.finding import Finding, Group, Kind, finding
from netlab.findings.stream_limits import limit_of
from netlab.findings.stream_rules import partial_traffic
from netlab.findings.traffic import OtherTraffic, others_of
from netlab.report.text.findings import statement
from netlab.trial.record import Record, Status

PLACES = [(host, way) for host in ("linux-a", "linux-b") for way in (False, True)]
LINK = Link(1e8, 1500)


def test_the_traffic_of_the_stream_is_never_reported_as_other_traffic() -> None:
    cases = []
    for seed in seeds(300, 4000):
        wire = drawn_wire(seed)
        if others_of(record_of_wire(wire, seed), wire.link):
            cases.append((seed, wire))
    assert cases == []


@pytest.mark.parametrize("place", PLACES)
def test_other_traffic_is_reported_with_its_host_direction_and_rate(
    place: tuple[str, bool],
) -> None:
    """A third of the link and as much as our traffic, which is known to a tenth."""
    missed: list[object] = []
    wrong: list[object] = []
    number, drawn_seeds = 0, seeds(120, 1500)
    for seed in drawn_seeds:
        wire = drawn_wire(seed, tells_segments=True, step_s=0.02)
        wire = changed(wire, share=min(wire.share, 0.6))
        if wire.lost_share and wire.message > 1200:
            continue  # how many frames of a lost message came is not known
        if wire.link.rate_bit_per_s < 1e8 or wire.window_s < 2:
            continue  # the queues at both edges are a large part of such a window
        rate = 0.3 * wire.link.rate_bit_per_s
        number += 1
        other_traffic = others_of(
            record_of_wire(changed(wire, others={place: rate}), seed), wire.link
        )
        if (*place,) not in {(traffic.host, traffic.receiving) for traffic in other_traffic}:
            missed.append((seed, wire))
        for traffic in other_traffic:
            if (traffic.host, traffic.receiving) != place:
                wrong.append((seed, wire))
            # An interface that counts padding and tags adds at most a tenth of our traffic.
            elif not 0.75 * rate <= traffic.bit_per_s <= 1.25 * rate:
                wrong.append((seed, wire, traffic.bit_per_s / rate))
    assert number > len(drawn_seeds) / 6
    assert (missed, wrong) == ([], [])


def sample(wire: Wire, seed: int = 1, **changes: Any) -> StreamSample:
    record = changed(record_of_wire(wire, seed), **changes)
    (stream_sample,) = samples(run_of(plan_of([cell_of_wire(record)], wire.link), [record]))
    return stream_sample


PLAIN = drawn_wire(
    0, protocol="TCP", version=4, link=LINK, window_s=10.0, share=0.69, message=65536,
    timestamps=True, segments_together=1, with_fcs=False, with_tag=False, padded=False,
    step_s=0.02, resent_share=0.0, lost_share=0.0, tells_segments=True, streams=1,
)  # fmt: skip
FULL = changed(PLAIN, others={("linux-b", True): 30.3e6})
ROOM = changed(PLAIN, share=0.4, others={("linux-b", True): 30e6})


def test_other_traffic_is_the_limit_only_if_the_link_is_full() -> None:
    full, room = sample(FULL), sample(ROOM)
    assert limit_of(full) is Kind.OTHER_TRAFFIC
    assert full.filled_by_others is not None
    assert full.filled_by_others.filled_share == pytest.approx(1.0, abs=0.01)
    assert limit_of(room) is not Kind.OTHER_TRAFFIC
    assert room.filled_by_others is None
    assert room.others


def found_in(wire: Wire, **changes: Any) -> list[Finding]:
    record = changed(record_of_wire(wire, 1), **changes)
    run = run_of(plan_of([cell_of_wire(record)], wire.link), [record])
    return [
        finding
        for finding in findings(run)
        if finding.kind in (Kind.OTHER_TRAFFIC, Kind.OTHER_TRAFFIC_BESIDE)
    ]


def test_the_sentence_about_other_traffic_states_rate_host_and_direction() -> None:
    ((full,), (room,)) = found_in(FULL), found_in(ROOM)
    assert full.kind is Kind.OTHER_TRAFFIC
    assert statement(full).startswith(
        "limited by other traffic on the link at 69.0 % of the wire ceiling: it uses 30."
    )
    assert statement(full).endswith(
        "at linux-b (receiving); together with this stream it fills 100 % of the link"
    )
    assert (room.kind, room.severity, room.group.host) == (
        Kind.OTHER_TRAFFIC_BESIDE,
        "note",
        "linux-b",
    )
    assert room.trials == (("c", 1),)
    assert statement(room).startswith("other traffic used 30.")
    assert statement(room).endswith("of the link (receiving); the link had room left")


@pytest.mark.parametrize(
    "changes",
    [
        {"test": "round_trip"},
        {"status": Status.FAILED, "reason": "deadline"},
        {"values": {**record_of_wire(FULL, 1).values, "same_host": True}},
        {"settings": {**record_of_wire(FULL, 1).settings, "count": 1000}},
    ],
)
def test_only_successful_streams_of_a_set_time_between_two_hosts_show_other_traffic(
    changes: dict[str, Any],
) -> None:
    assert others_of(record_of_wire(FULL, 1), LINK)
    assert others_of(changed(record_of_wire(FULL, 1), **changes), LINK) == ()
    assert others_of(record_of_wire(FULL, 1), None) == ()


NEEDED = (
    *("receiver_interface_window_ns", "receiver_interface_window_received_bytes"),
    *("receiver_interface_window_received_packets", "receiver_interface_counter_step_ns"),
    *("receiver_interface", "receiver_elapsed_ns"),
)


@pytest.mark.parametrize("name", NEEDED)
def test_a_record_without_a_needed_counter_shows_no_other_traffic(name: str) -> None:
    record = record_of_wire(FULL, 1)
    values = {key: value for key, value in record.values.items() if key != name}
    assert others_of(changed(record, values=values), LINK) == ()


def test_a_seldom_updated_interface_counter_shows_no_other_traffic_in_a_short_window() -> None:
    record = record_of_wire(FULL, 1)
    seldom = {**record.values, "receiver_interface_counter_step_ns": 4_000_000_000}
    assert others_of(changed(record, values=seldom), LINK) == ()


def test_the_own_data_of_a_stream_in_both_directions_is_not_other_traffic() -> None:
    assert others_of(both_ways(PLAIN), LINK) == ()
    (traffic,) = others_of(both_ways(FULL), LINK)
    assert (traffic.host, traffic.receiving) == ("linux-b", True)


def both_ways(wire: Wire) -> Record:
    """Two streams, one per direction: every interface carries the data of one and the
    acknowledgements of the other."""
    server_record = record_of_wire(wire, 1)
    client_record = record_of_wire(changed(wire, others={}), 2)
    values: dict[str, Any] = {"same_host": False}
    ways = (
        ("to_server_", server_record, "to_client_", client_record),
        ("to_client_", client_record, "to_server_", server_record),
    )
    for prefix, record, _, reverse in ways:
        for name, value in record.values.items():
            if name != "same_host":
                values[prefix + name] = value
        for end, opposite in (("sender", "receiver"), ("receiver", "sender")):
            for way in ("sent", "received"):
                for unit in ("bytes", "packets"):
                    name = f"interface_window_{way}_{unit}"
                    total = record.values[f"{end}_{name}"] + reverse.values[f"{opposite}_{name}"]  # type: ignore[operator]
                    values[f"{prefix}{end}_{name}"] = total
    return changed(
        server_record, values=values, settings={**server_record.settings, "direction": "both"}
    )


# ---- drops that no counter shows -----------------------------------------------------------------


def filtered(wire: Wire, seed: int, length: float = 0.0) -> Record:
    """A packet filter of the receiver drops a part: only its interface counts these packets.

    In its place may be frames of others, so much longer than ours.
    """
    record = record_of_wire(wire, seed)
    values = dict(record.values)
    frames = int(str(values["lost_messages"])) - int(str(values["receiver_queue_drops"]))
    ours = min(wire.message + FAMILY[wire.version] + 8, wire.link.mtu_bytes) + 14
    values["receiver_queue_drops"] = 0
    grown = {"bytes": round(frames * ours * (1 + length)), "packets": frames}
    for unit, more in grown.items():
        name = f"receiver_interface_window_received_{unit}"
        values[name] = int(str(values[name])) + more
    return changed(record, values=values)


def test_packets_of_the_stream_that_a_filter_drops_are_not_other_traffic() -> None:
    cases, report_count, drawn_seeds = [], 0, seeds(300, 1500)
    for seed in drawn_seeds:
        wire = drawn_wire(seed, protocol="UDP", version=4, with_fcs=False, with_tag=False)
        wire = changed(wire, lost_share=0.3, streams=1, segments_together=1, padded=False)
        wire = changed(wire, share=min(wire.share, 0.6))  # a full link loses as much by itself
        if wire.message > 1200 or record_of_wire(wire, seed).values["receiver_queue_drops"]:
            continue
        if others_of(filtered(wire, seed), wire.link):
            cases.append((seed, wire))
        report_count += bool(others_of(filtered(wire, seed, length=0.2), wire.link))
    assert cases == []
    assert report_count > len(drawn_seeds) / 20


def test_the_likely_share_of_other_traffic_counts_only_the_direction_of_the_stream() -> None:
    for place in PLACES:
        share = sample(changed(PLAIN, share=0.5, others={place: 30e6})).likely_others_share
        against = place in [("linux-a", True), ("linux-b", False)]
        assert share == pytest.approx(0.0 if against else 0.3, abs=0.01), place


# ---- over trials ---------------------------------------------------------------------------------


def sample_with(cell: str, trial: int, *other_traffic: OtherTraffic) -> StreamSample:
    stream = udp(cell=cell, trial=trial, others=other_traffic)
    ends = changed(stream.sender, host="linux-a"), changed(stream.receiver, host="linux-b")
    return changed(stream, sender=ends[0], receiver=ends[1])


def other(bit_per_s: float = 3e7, filled_share: float = 0.7, host: str = "linux-b") -> OtherTraffic:
    return OtherTraffic(
        host=host, receiving=host == "linux-b", bit_per_s=bit_per_s, filled_share=filled_share
    )


def test_trials_with_other_traffic_are_counted_by_host_and_direction() -> None:
    trials = [
        sample_with("a", 1, other(2e7), other(host="linux-a")),
        sample_with("a", 2, other(4e7)),
        sample_with("b", 1),
    ]
    first_finding, second_finding = partial_traffic(trials, ())
    assert (first_finding.group.host, first_finding.trials) == ("linux-b", (("a", 1), ("a", 2)))
    assert first_finding.cells == second_finding.cells == ("a",)
    assert first_finding.evidence == {"other_bit_per_s": 3e7, "trials": 2}
    assert first_finding.words == {"way": "receiving", "in_trials": "in 2 of 3 trials"}
    assert (second_finding.group.host, second_finding.words["way"], second_finding.trials) == (
        "linux-a",
        "sending",
        (("a", 1),),
    )


def test_other_traffic_that_is_the_bottleneck_is_not_reported_twice() -> None:
    """Neither of a trial that it fills, nor of a cell whose limit it is; other cells are told."""
    filled, beside = sample_with("a", 1, other(filled_share=0.99)), sample_with("a", 2, other())
    elsewhere = sample_with("b", 1, other())
    limits = [
        finding(kind, Group(), (cell,))
        for kind, cell in ((Kind.OTHER_TRAFFIC, "a"), (Kind.WIRE_CEILING, "b"))
    ]
    trials = [
        [told.trials for told in partial_traffic([filled, beside, elsewhere], limited)]
        for limited in (limits, ())
    ]
    assert trials == [[(("b", 1),)], [(("a", 2), ("b", 1))]]


def test_other_traffic_of_a_stream_is_that_sent_at_its_sender_or_received_at_its_receiver() -> None:
    stream = sample_with("a", 1)
    along = [other(host="linux-a"), other(host="linux-b")]
    against = [changed(each, receiving=not each.receiving, bit_per_s=9e7) for each in along]
    reported = [changed(stream, others=(*against, each)).reported_others for each in along]
    assert reported == along
    assert changed(stream, others=(*against,)).reported_others is None


def test_loss_in_the_receiving_socket_is_not_attributed_to_other_traffic() -> None:
    losses = changed(udp().losses, sent=8_200, lost=4_200, receive_queue=4_200)
    stream_sample = changed(sample_with("a", 1, other(filled_share=0.99)), losses=losses)
    assert limit_of(stream_sample) is Kind.LOSS_LIMIT_SOCKET
