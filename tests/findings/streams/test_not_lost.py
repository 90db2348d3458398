"""Packets that were late, copied, damaged or cut short are not told as lost, or as a smaller path.

Each case is drawn: its rate, its sizes, and the share of packets that something happened to. What
is so does not come from netlab: it is what the record was made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil
from random import Random
from typing import Any

import pytest
from draws import chance, drawn
from made_findings import plan_of, run_of
from made_readings import planned, result

from netlab.ethernet import Link
from netlab.findings.finding import Finding, Kind
from netlab.report.text.findings import statement
from netlab.trial.record import Value

CASES = drawn(few=40, many=1000)
SHARES = (0.02, 0.1, 0.4)
COUNTERS = {
    f"{end}_{place}_dropped_frames": 0
    for end in ("client", "server")
    for place in ("interface", "queue", "softnet")
}
"""Both hosts count all their drops, and dropped nothing: beta sends, alpha receives."""
PLACES = (
    *(Kind.LOSS_SOCKET, Kind.LOSS_BACKLOG, Kind.LOSS_INTERFACE, Kind.LOSS_QUEUE, Kind.LOSS_PATH),
    *(Kind.LOSS_UNKNOWN, Kind.LOSS_DAMAGED, Kind.SENT_AGAIN),
)


def findings_of(
    protocol: str, size: int, link: Link, trials: list[Mapping[str, Value]]
) -> dict[Kind, Finding]:
    """Kind → its only finding, of a run with one cell."""
    cell = planned("stream", protocol=protocol, message_bytes=size)
    records = [result(cell, number, values) for number, values in enumerate(trials, start=1)]
    findings = run_of(plan_of([cell], link, repeats=len(trials)), records).findings
    by_kind = {finding.kind: finding for finding in findings}
    assert len(by_kind) == len(findings)
    return by_kind


def grown(**counts: int) -> dict[str, Value]:
    """Counters of the sender's TCP that had counted before the window, too."""
    begin: dict[str, Value] = {f"sender_tcp_begin_{name}": 1000 for name in counts}
    return begin | {f"sender_tcp_end_{name}": 1000 + count for name, count in counts.items()}


def tcp_values(link: Link, throughput_share: float, **more: Any) -> dict[str, Value]:
    mss = link.mtu_bytes - 52
    return {
        "throughput_bit_per_s": throughput_share * link.rate_bit_per_s,
        "same_host": False,
        "mss_bytes": mss,
        "tcp_timestamps": True,
        "sender_tcp_end_pmtu": link.mtu_bytes,
        "sender_tcp_end_snd_mss": mss,
        "sender_tcp_end_snd_wnd": 3_000_000,
        **COUNTERS,
        **more,
    }


def drawn_link(random: Random) -> Link:
    return Link(random.choice((1e7, 1e8, 1e9, 1e10)), random.choice((1280, 1500, 9000)))


# ---- sent again ----------------------------------------------------------------------------------


def sent_again(
    random: Random, needless: int, lost: int, *, reordered: bool, known: bool = True
) -> dict[Kind, Finding]:
    """A TCP stream that sent this many segments again."""
    link = drawn_link(random)
    counts = {"total_retrans": needless + lost}
    if known:
        counts |= {"dsack_dups": needless, "reord_seen": needless // 3 + 1 if reordered else 0}
    values = tcp_values(link, random.uniform(0.1, 0.9), **grown(**counts))
    return findings_of("TCP", random.choice((64, 8192, 131_072)), link, [values])


def test_segments_that_arrived_twice_are_not_told_as_lost_however_many() -> None:
    for case in range(CASES):
        random = chance(case)
        needless, reordered = random.choice((1, 40, 2_354, 100_000)), random.random() < 0.5
        late = needless - needless // 20 * random.randrange(2)
        # The last reports come after the window.
        found = sent_again(random, late, needless - late, reordered=reordered)
        assert Kind.SENT_AGAIN not in found, case
        twice = found[Kind.DELIVERY_TWICE]
        assert twice.evidence["duplicate_packets"] == late
        assert twice.evidence["retransmissions"] == needless
        assert ("packets were reordered" in statement(twice)) is reordered
        assert "lost" not in statement(twice)


def test_segments_that_arrived_twice_and_were_sent_once_are_copies_with_their_share() -> None:
    for case in range(CASES):
        random = chance(case)
        sent = random.randrange(1_000, 1_000_000)
        copied, resent = round(random.choice((0.0, 0.02, 0.4)) * sent), random.choice((0, 40))
        counters = grown(total_retrans=resent, dsack_dups=resent + copied, data_segs_out=sent)
        link = Link(1e8, 1500)
        found = findings_of("TCP", 8192, link, [tcp_values(link, 0.9) | counters])
        assert (Kind.DELIVERY_AGAIN in found) is (copied > 0)
        if copied:
            again = found[Kind.DELIVERY_AGAIN]
            assert again.evidence["copied_packets"] == copied
            expected_text = f"{copied:,} of {sent:,} segments arrived again, though TCP sent"
            assert expected_text in statement(again)


@pytest.mark.parametrize(
    ("counter", "kind", "text"),
    [
        (
            "reord_seen",
            Kind.DELIVERY_OVERTAKEN,
            "4,000 times acknowledgements showed that one of 10,000 segments had overtaken others",
        ),
    ],
)
def test_segments_that_overtook_others_are_counted(counter: str, kind: Kind, text: str) -> None:
    link = Link(1e8, 1500)
    for count, is_told in ((0, False), (9, False), (10, True), (4_000, True)):
        counters = grown(total_retrans=0, data_segs_out=10_000, **{counter: count})
        found = findings_of("TCP", 8192, link, [tcp_values(link, 0.9) | counters])
        assert (kind in found) is is_told
    assert statement(found[kind]) == text


def test_of_segments_sent_again_only_those_that_did_not_arrive_twice_are_told_as_lost() -> None:
    verdicts: Counter[str] = Counter()
    for case in range(CASES):
        random = chance(case)
        all_of_them = random.randrange(100, 100_000)
        lost = round(random.choice((0.2, 0.5, 0.9)) * all_of_them)
        found = sent_again(random, all_of_them - lost, lost, reordered=True)
        again, twice = found[Kind.SENT_AGAIN], found[Kind.DELIVERY_TWICE]
        right = (again.evidence["sent_again"], twice.evidence["duplicate_packets"])
        verdicts["right" if right == (lost, all_of_them - lost) else "wrong"] += 1
        assert "lost on the path" in statement(again)
    assert verdicts == {"right": CASES}


@pytest.mark.parametrize("known", [True, False])
def test_lost_segments_are_told_as_lost_with_and_without_reports_of_the_receiver(
    known: bool,
) -> None:
    for case in range(CASES):
        random = chance(case)
        lost = random.choice((1, 40, 2_354, 100_000))
        found = sent_again(random, 0, lost, reordered=False, known=known)
        assert found[Kind.SENT_AGAIN].evidence["sent_again"] == lost
        assert Kind.DELIVERY_TWICE not in found


def test_lost_and_copied_acknowledgements_are_told_beyond_what_windows_differ() -> None:
    for case in range(CASES):
        random = chance(case)
        sent, odd = random.randrange(2_000, 100_000), random.choice((-0.4, -0.05, 0.0, 0.05, 0.4))
        longer = 1 + random.uniform(-0.019, 0.019)
        values = tcp_values(Link(1e8, 1500), 0.9) | {
            "sender_elapsed_ns": round(longer * 1e9),
            "receiver_elapsed_ns": 10**9,
            "sender_tcp_window_segs_in": round(longer * sent * (1 - odd)),
            "receiver_tcp_window_segs_out": sent,
        }
        found = findings_of("TCP", 8192, Link(1e8, 1500), [values])
        kinds = {kind for kind in found if kind.name == "way-back"}
        assert kinds == {
            kind
            for kind, is_so in ((Kind.WAY_BACK_LOST, odd > 0), (Kind.WAY_BACK_COPIED, odd < 0))
            if is_so
        }
        for kind in kinds:
            share = found[kind].evidence["lost_acknowledgements_share"]
            assert share == pytest.approx(odd, abs=0.002)


def test_acknowledgements_that_only_one_window_missed_are_not_told() -> None:
    """Data that a pause held moved the receiver's window; the connection lost nothing."""
    values = tcp_values(Link(1e8, 1500), 0.9) | {
        "sender_elapsed_ns": 10**9,
        "receiver_elapsed_ns": 10**9,
        "sender_tcp_window_segs_in": 1_800,
        "receiver_tcp_window_segs_out": 2_000,
    }
    for sent, is_told in ((2_200, False), (2_430, True)):
        ends = {"sender_tcp_end_segs_in": 2_200, "receiver_tcp_end_segs_out": sent}
        found = findings_of("TCP", 8192, Link(1e8, 1500), [values | ends])
        assert (Kind.WAY_BACK_LOST in found) is is_told


# ---- messages ------------------------------------------------------------------------------------


def udp_values(link: Link, size: int, sent: int, **counts: int) -> dict[str, Value]:
    lost = counts.get("lost_messages", 0)
    return {
        "throughput_bit_per_s": (sent - lost) * size * 8.0,
        "sent_messages": sent,
        "sender_sent_messages_window": sent,
        "sender_elapsed_ns": 10**9,
        "lost_messages": 0,
        "duplicate_messages": 0,
        "reordered_messages": 0,
        "same_host": False,
        "receiver_queue_drops": 0,
        "sender_local_drops": 0,
        "sender_path_mtu_bytes": link.mtu_bytes,
        **COUNTERS,
        **counts,
    }


def drawn_messages(random: Random) -> tuple[Link, int, int]:
    """A link, a message size that fits one frame, and how many of them half of the link carries."""
    link = drawn_link(random)
    size = random.choice((18, 64, 384, 900, 1200, link.mtu_bytes - 28))
    return link, size, max(1000, round(link.rate_bit_per_s / 2 / 8 / (size + 66)))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("reordered_messages", Kind.DELIVERY_REORDERED),
        ("duplicate_messages", Kind.DELIVERY_COPIED),
    ],
)
def test_messages_that_were_late_or_copied_are_a_note_with_their_number(
    name: str, kind: Kind
) -> None:
    for case in range(CASES):
        random = chance(case)
        link, size, sent = drawn_messages(random)
        odd = ceil(random.choice((0.001, *SHARES)) * sent)
        found = findings_of("UDP", size, link, [udp_values(link, size, sent, **{name: odd})])
        assert not {*PLACES} & {*found}
        assert {it for it in found if it.name == "delivery"} == {kind}
        assert found[kind].severity == "note"
        assert (found[kind].evidence[name], found[kind].evidence["sent_messages"]) == (odd, sent)
        assert statement(found[kind]).startswith(f"{odd:,} of {sent:,} messages arrived")
        few = udp_values(link, size, sent, **{name: (sent - 1) // 1000})
        assert kind not in findings_of("UDP", size, link, [few])


def test_damaged_messages_are_not_told_as_a_socket_without_room() -> None:
    """Linux counts them as drops of the socket, those of up to 68 bytes only in its own counter."""
    verdicts: Counter[str] = Counter()
    for case in range(CASES):
        random = chance(case)
        link, size, sent = drawn_messages(random)
        damaged = round(random.choice(SHARES) * sent)
        counts = {
            "lost_messages": damaged,
            "receiver_queue_drops": damaged if size > 68 else 0,
            "receiver_udp_checksum_errors": damaged,
        }
        found = findings_of("UDP", size, link, [udp_values(link, size, sent, **counts)])
        right = {*PLACES} & {*found} == {Kind.LOSS_DAMAGED}
        limits = {Kind.LOSS_LIMIT_SOCKET, Kind.LOSS_LIMIT_HOST, Kind.LOSS_LIMIT_UNKNOWN}
        verdicts["right" if right and not limits & {*found} else "wrong"] += 1
        assert f"{damaged:,} arrived at alpha damaged" in statement(found[Kind.LOSS_DAMAGED])
    assert verdicts == {"right": CASES}


def test_damaged_messages_of_others_do_not_count_as_lost_ones() -> None:
    """The system counts all that it receives."""
    link, size, sent = Link(1e8, 1500), 1472, 4_000
    counts = {"lost_messages": 400, "receiver_udp_checksum_errors": 900}
    found = findings_of("UDP", size, link, [udp_values(link, size, sent, **counts)])
    assert found[Kind.LOSS_DAMAGED].evidence["damaged_share"] == 0.1


def test_damage_and_a_full_socket_are_named_each_with_its_own_count() -> None:
    for case in range(CASES):
        random = chance(case)
        link, size, sent = drawn_messages(random)
        size = max(size, 69)
        losses = round(random.choice(SHARES) * sent)
        damaged = round(random.choice((0.05, 0.3, 0.7, 0.95)) * losses)
        counts = {
            "lost_messages": losses,
            "receiver_queue_drops": losses,
            "receiver_udp_checksum_errors": damaged,
        }
        found = findings_of("UDP", size, link, [udp_values(link, size, sent, **counts)])
        counted = {Kind.LOSS_DAMAGED: damaged, Kind.LOSS_SOCKET: losses - damaged}
        named = {kind: count for kind, count in counted.items() if count >= 0.1 * losses}
        dropped = {kind: found[kind].evidence["dropped_frames"] for kind in {*PLACES} & {*found}}
        assert dropped == named


def test_segments_with_a_wrong_checksum_are_named_as_the_cause_of_segments_sent_again() -> None:
    values = tcp_values(Link(1e8, 1500), 0.5, receiver_tcp_checksum_errors=300)
    found = findings_of("TCP", 64, Link(1e8, 1500), [values | grown(total_retrans=310)])
    expected = "310 segments sent again: alpha dropped 300 frames because their checksum was wrong"
    assert statement(found[Kind.SENT_AGAIN]) == expected


# ---- a small MSS ---------------------------------------------------------------------------------


def test_a_small_mss_is_a_note_of_its_own_and_never_the_mtu_of_the_path() -> None:
    for case in range(CASES):
        random = chance(case)
        link = Link(random.choice((1e7, 1e8, 1e9)), random.choice((1500, 9000)))
        full = link.mtu_bytes - 52
        mss = random.choice((full, full - 1, 1348, 1188, 536))
        values = tcp_values(link, 0.5, mss_bytes=mss, sender_tcp_end_snd_mss=mss)
        found = findings_of("TCP", 8192, link, [values])
        assert Kind.MTU_MISMATCH_STREAM not in found
        assert (Kind.SMALL_MSS in found) is (mss < full)
        if mss < full:
            assert found[Kind.SMALL_MSS].severity == "note"
            assert f"at most {mss} B, although" in statement(found[Kind.SMALL_MSS])
        # The same MSS over a path that the system knows to be as narrow: the path is narrower.
        narrow = findings_of("TCP", 8192, link, [values | {"sender_tcp_end_pmtu": mss + 52}])
        assert (Kind.MTU_MISMATCH_STREAM in narrow) is (mss < full)
        assert Kind.SMALL_MSS not in narrow
        # Linux cuts smaller segments for a small window.
        shut = findings_of("TCP", 8192, link, [values | {"sender_tcp_end_snd_wnd": 4 * mss - 1}])
        assert Kind.SMALL_MSS not in shut
