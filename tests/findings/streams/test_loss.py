"""Each place of loss has its exact threshold."""

from __future__ import annotations

from typing import Any

import pytest
from made_samples import ACCOUNT, IDLE, NONE_DROPPED, changed, losses_of, tcp, udp

from netlab.findings.derived import StreamSample
from netlab.findings.finding import Kind
from netlab.findings.stream_rules import lost, placed
from netlab.findings.traffic import OwnDrops
from netlab.report.text.findings import statement

ENDS = {"sender": changed(IDLE, host="a"), "receiver": changed(IDLE, host="b")}


def lossy(socket: int | None = 0, **changes: Any) -> StreamSample:
    """1,000 of 4,000 messages lost; ``changes``: counters of drops, and fields of the sample."""
    counters = {name: changes.pop(name) for name in OwnDrops.__slots__ if name in changes}
    losses = {name: changes.pop(name) for name in ("local", "other_way", "lost") if name in changes}
    defaults: dict[str, Any] = {"sent": 4_000, "lost": 1_000, "receive_queue": socket, "local": 0}
    return udp(
        **ENDS
        | {"losses": losses_of(**defaults | losses), "drops": changed(NONE_DROPPED, **counters)}
        | changes
    )


@pytest.mark.parametrize(
    ("sample", "places"),
    [
        (lossy(), [(Kind.LOSS_PATH, "", 1_000)]),
        (lossy(500), [(Kind.LOSS_SOCKET, "b", 500), (Kind.LOSS_PATH, "", 500)]),
        (lossy(100), [(Kind.LOSS_PATH, "", 900), (Kind.LOSS_SOCKET, "b", 100)]),
        (lossy(99), [(Kind.LOSS_PATH, "", 901)]),
        (lossy(900), [(Kind.LOSS_SOCKET, "b", 900), (Kind.LOSS_PATH, "", 100)]),
        (lossy(901), [(Kind.LOSS_SOCKET, "b", 901)]),
        (lossy(None), [(Kind.LOSS_UNKNOWN, "b", 1_000)]),
        (lossy(damaged=300), [(Kind.LOSS_PATH, "", 700), (Kind.LOSS_DAMAGED, "b", 300)]),
        (lossy(receiver_backlog=950), [(Kind.LOSS_BACKLOG, "b", 950)]),
        (lossy(receiver_backlog=1), [(Kind.LOSS_PATH, "", 999)]),
        (lossy(receiver_backlog=None), [(Kind.LOSS_UNKNOWN, "b", 1_000)]),
        (lossy(receiver_interface=920), [(Kind.LOSS_INTERFACE, "b", 920)]),
        (lossy(receiver_interface=950, receiver_backlog=950), [(Kind.LOSS_BACKLOG, "b", 950)]),
        # Of as many frames each of both may have counted the same ones, or others.
        (
            lossy(receiver_interface=300, receiver_backlog=300),
            [(Kind.LOSS_UNKNOWN, "", 400), (Kind.LOSS_BACKLOG, "b", 300)],
        ),
        (lossy(receiver_interface=None), [(Kind.LOSS_UNKNOWN, "b", 1_000)]),
        (lossy(sender_interface=910), [(Kind.LOSS_INTERFACE, "a", 910)]),
        (lossy(sender_interface=None), [(Kind.LOSS_UNKNOWN, "a", 1_000)]),
        (
            lossy(sender_interface=None, receiver_interface=700),
            [(Kind.LOSS_INTERFACE, "b", 700), (Kind.LOSS_UNKNOWN, "a", 300)],
        ),
        (lossy(sender_queue=950), [(Kind.LOSS_QUEUE, "a", 950)]),
        (
            lossy(sender_queue=901, local=1),
            [(Kind.LOSS_QUEUE, "a", 900), (Kind.LOSS_PATH, "", 100)],
        ),
        (lossy(sender_queue=500, local=500), [(Kind.LOSS_PATH, "", 1_000)]),
        (lossy(sender_queue=500, local=None), [(Kind.LOSS_UNKNOWN, "a", 1_000)]),
        (lossy(sender_queue=None), [(Kind.LOSS_UNKNOWN, "a", 1_000)]),
        (
            lossy(300, sender_queue=250, receiver_interface=410),
            [
                (Kind.LOSS_INTERFACE, "b", 410),
                (Kind.LOSS_SOCKET, "b", 300),
                (Kind.LOSS_QUEUE, "a", 250),
            ],
        ),
        # Messages of the other direction may have been dropped as well.
        (
            lossy(sender_interface=1_000, other_way=500),
            [(Kind.LOSS_INTERFACE, "a", 500), (Kind.LOSS_UNKNOWN, "", 500)],
        ),
        (lossy(950, other_way=9_000), [(Kind.LOSS_SOCKET, "b", 950)]),
        # Fragments without room are lost at the receiver, and no other counter shows it.
        (lossy(packets_a_message=3), [(Kind.LOSS_PATH, "", 1_000)]),
        (lossy(packets_a_message=3, reassembly=1), [(Kind.LOSS_UNKNOWN, "", 1_000)]),
        (lossy(packets_a_message=3, reassembly=None), [(Kind.LOSS_UNKNOWN, "", 1_000)]),
        (lossy(packets_a_message=1, reassembly=None), [(Kind.LOSS_PATH, "", 1_000)]),
        # One lost packet of a message loses it, so drops do not tell how many messages are lost.
        (lossy(500, packets_a_message=3), [(Kind.LOSS_SOCKET, "b", 1_000)]),
        (lossy(499, packets_a_message=3), [(Kind.LOSS_UNKNOWN, "", 1_000)]),
        (lossy(same_host=True), [(Kind.LOSS_UNKNOWN, "", 1_000)]),
    ],
)
def test_loss_is_attributed_to_the_places_that_dropped_it_and_the_rest_to_the_path(
    sample: StreamSample, places: list[tuple[Kind, str, int]]
) -> None:
    assert [(place.kind, place.host, place.lost) for place in placed(sample)] == places
    total = sum(lost_messages for _kind, _host, lost_messages in places)
    assert [place.beside for place in placed(sample)] == [total - lost for *_, lost in places]


@pytest.mark.parametrize(
    ("sample", "kinds"),
    [
        # Ten seconds of a switched network: 20 unhandled frames on either interface.
        (lossy(receiver_interface=20, between_s=10.0), [Kind.LOSS_PATH]),
        (lossy(receiver_interface=20, sender_interface=20, between_s=10.0), [Kind.LOSS_PATH]),
        (lossy(receiver_interface=119, between_s=10.0), [Kind.LOSS_PATH]),
        (lossy(receiver_interface=120, between_s=10.0), [Kind.LOSS_PATH, Kind.LOSS_INTERFACE]),
        (lossy(receiver_interface=921, between_s=10.0), [Kind.LOSS_INTERFACE]),
        # Few enough are lost to be among them.
        (lossy(lost=6, receiver_interface=5, between_s=10.0), [Kind.LOSS_UNKNOWN]),
        (lossy(lost=6, receiver_interface=2, between_s=10.0), [Kind.LOSS_PATH]),
    ],
)
def test_a_few_unhandled_frames_per_second_are_not_counted_as_lost_messages(
    sample: StreamSample, kinds: list[Kind]
) -> None:
    assert [place.kind for place in placed(sample)] == kinds


def test_a_finding_of_loss_on_the_path_mentions_few_frames_dropped_by_hosts() -> None:
    (finding,) = lost([lossy(receiver_interface=7, between_s=10.0)])
    assert "lost on the path" in statement(finding)
    few_frames = "and the 7 frames that they dropped may belong to other protocols"
    assert few_frames in statement(finding)
    few = changed(NONE_DROPPED, sender_interface=7, between_s=10.0)
    again = tcp(**ENDS, tcp=changed(ACCOUNT, retransmissions=40), drops=few)
    assert few_frames in statement(next(lost([again])))


def test_streams_without_loss_and_imports_have_no_place_of_loss() -> None:
    assert placed(udp()) == ()
    assert placed(lossy(imported=True)) == ()
    assert placed(tcp()) == ()
    assert tuple(lost([udp(), tcp(), lossy(imported=True)])) == ()


def test_tcp_retransmissions_are_a_note_with_the_place_of_the_loss() -> None:
    clean = tcp(**ENDS, tcp=changed(ACCOUNT, retransmissions=40))
    (finding,) = lost([clean])
    assert (finding.kind, finding.severity) == (Kind.SENT_AGAIN, "note")
    assert statement(finding).startswith("40 segments sent again, lost on the path: both hosts")
    (finding,) = lost([changed(clean, drops=changed(NONE_DROPPED, sender_queue=20))])
    expected_text = (
        "40 segments sent again: a dropped 20 frames in the queue in front of its interface"
    )
    assert statement(finding) == expected_text
    for unknown in (OwnDrops(), changed(NONE_DROPPED, receiver_interface=1)):
        (finding,) = lost([changed(clean, drops=unknown)])
        assert statement(finding) == ("40 segments sent again; the place of the loss is unknown")


def test_each_place_of_loss_has_one_finding_with_the_sums_of_its_trials() -> None:
    trials = [lossy(950), lossy(600), lossy(), udp(), changed(lossy(1_000), cell="b")]
    socket, path = lost(trials)
    assert (socket.kind, socket.cells) == (Kind.LOSS_SOCKET, ("a", "b"))
    assert socket.evidence == {
        "lost_messages": 2_550,
        "sent_messages": 12_000,
        "dropped_frames": 2_550,
        "other_messages": 400,
        "trials": 3,
    }
    assert (path.kind, path.cells) == (Kind.LOSS_PATH, ("a",))
    assert path.evidence["lost_messages"] == 1_400
    assert "2,550 of 12,000 messages lost: the receiving socket of b" in statement(socket)
    expected_text = "1,400 of 8,000 messages lost on the path: both hosts count all their drops, "
    assert statement(path).startswith(expected_text + "and these explain only the other 600")


def test_messages_refused_by_the_queue_of_the_sender_are_reported_as_never_sent() -> None:
    sample = udp(**ENDS, losses=losses_of(sent=4_000, lost=0, receive_queue=0, local=70))
    (finding,) = lost([sample])
    assert (finding.kind, finding.words["at_host"]) == (Kind.LOSS_UNSENT, "a")
    assert statement(finding).startswith("70 messages were never sent")
    assert finding.evidence["lost_share"] == 70 / 4_070


def test_other_traffic_hides_a_loss_on_the_path_unless_the_sender_sent_it() -> None:
    others = changed(lossy(), likely_others_share=0.3)
    assert [place.kind for place in placed(others)] == [Kind.LOSS_UNKNOWN]
    own = changed(others, _likely_others=(0.3, 0.0, 0.2))
    assert [place.kind for place in placed(own)] == [Kind.LOSS_PATH]


def test_an_unknown_place_of_loss_is_reported_with_the_host_that_counts_no_drops() -> None:
    (finding,) = lost([lossy(None)])
    assert "lost at an unknown place: not all of b’s own drops are known" in statement(finding)
    (finding,) = lost([lossy(3, packets_a_message=3)])
    assert "the two hosts dropped only 3 frames" in statement(finding)
    assert {finding.severity} == {"warning"}
