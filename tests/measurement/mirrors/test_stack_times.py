"""The times in a stack are computed from captured frames."""

from __future__ import annotations

import ipaddress
import random
import struct

import pytest
from draws import chance, drawn, seeds

from netlab.measurement.capture import ETHERNET, RAW_IP, captured_frames
from netlab.measurement.round_trip import stack_times_ns, stack_values
from netlab.stats.histogram import from_pairs

MIRROR = ("10.0.0.2", 7)
BEGIN_NS = 1_700_000_000_123_456_789


def packet(
    source: tuple[str, int],
    destination: tuple[str, int],
    payload: bytes,
    protocol: int = 17,
    offset: int = 0,
) -> bytes:
    """A UDP datagram in its IP packet, by hand (RFC 768, 791, 8200), without checksums."""
    udp = struct.pack(">HHHH", source[1], destination[1], 8 + len(payload), 0) + payload
    ends = ipaddress.ip_address(source[0]).packed + ipaddress.ip_address(destination[0]).packed
    if len(ends) == 32:
        return struct.pack(">IHBB", 6 << 28, len(udp), protocol, 64) + ends + udp
    length = 20 + len(udp)
    return struct.pack(">BBHHHBBH", 0x45, 0, length, 0, offset, 64, protocol, 0) + ends + udp


def pcap(frames: list[tuple[int, bytes]], link: int, *, in_ns: bool = True) -> bytes:
    magic = 0xA1B23C4D if in_ns else 0xA1B2C3D4
    data = struct.pack("<IHHIIII", magic, 2, 4, 0, 0, 96, link)
    for at_ns, frame in frames:
        parts = at_ns % 10**9 // (1 if in_ns else 1000)
        head = frame[:96]
        data += struct.pack("<IIII", at_ns // 10**9, parts, len(head), len(frame)) + head
    return data


def times(frames: list[tuple[int, bytes]], link: int = RAW_IP) -> list[int]:
    return stack_times_ns([*captured_frames(pcap(frames, link))], *MIRROR)


@pytest.mark.parametrize("mirror", ["10.0.0.2", "fd00::2"])
@pytest.mark.parametrize("link", [RAW_IP, ETHERNET])
@pytest.mark.parametrize("seed", seeds(5, 200))
def test_each_answered_request_has_its_own_stack_time(mirror: str, link: int, seed: int) -> None:
    """Several clients, requests that overlap, lost ones, foreign frames; 802.1Q tags on Ethernet,
    and padding behind the datagram."""
    rng = random.Random(f"{mirror}-{link}-{seed}")  # noqa: S311  (no secret)
    clients = ["10.0.0.1", "10.0.0.3"] if "." in mirror else ["fd00::1", "fd00::3"]
    tag = rng.choice([b"", b"\x81\x00\x00\x05", b"\x88\xa8\x00\x05\x81\x00\x00\x06"])
    kind = b"\x08\x00" if "." in mirror else b"\x86\xdd"

    def frame(datagram: bytes) -> bytes:
        return datagram if link == RAW_IP else bytes(12) + tag + kind + datagram + bytes(6)

    frames: list[tuple[int, bytes]] = []
    expected: list[tuple[int, int]] = []
    for number in range(rng.randrange(1, 60)):
        client = (rng.choice(clients), rng.randrange(1024, 65536))
        payload = struct.pack(">Q", number) + rng.randbytes(rng.choice([8, 10, 500, 1400]))
        at_ns = BEGIN_NS + rng.randrange(10**9)
        held_ns = rng.randrange(1, 10**7)
        frames.append((at_ns, frame(packet(client, (mirror, 7), payload))))
        fate = rng.random()
        if fate < 0.2:
            continue
        frames.append((at_ns + held_ns, frame(packet((mirror, 7), client, payload))))
        expected.append((at_ns + held_ns, held_ns))
        if fate < 0.3:  # another port, another protocol, an answer nobody asked for
            frames.append((at_ns, frame(packet(client, (mirror, 8), payload))))
            frames.append((at_ns + 1, frame(packet((mirror, 7), client, payload, protocol=6))))
            frames.append((at_ns, frame(packet((mirror, 7), client, rng.randbytes(16)))))
    frames.sort(key=lambda entry: entry[0])
    captured = [*captured_frames(pcap(frames, link))]
    times_ns = stack_times_ns(captured, mirror, 7)
    assert times_ns == [held_ns for _, held_ns in sorted(expected)]


def test_a_frame_captured_twice_on_loopback_counts_once() -> None:
    request = packet(("10.0.0.1", 5000), MIRROR, b"16 bytes of it..")
    answer = packet(MIRROR, ("10.0.0.1", 5000), b"16 bytes of it..")
    frames = [(BEGIN_NS, request), (BEGIN_NS + 2, request)]
    frames += [(BEGIN_NS + 52, answer), (BEGIN_NS + 55, answer)]
    assert times(frames) == [50]


def test_later_fragments_have_no_stack_time_and_damaged_packets_raise_no_error() -> None:
    request = packet(("10.0.0.1", 5000), MIRROR, bytes(16))
    answer = packet(MIRROR, ("10.0.0.1", 5000), bytes(16), offset=185)
    assert times([(BEGIN_NS, request), (BEGIN_NS + 9, answer)]) == []
    rng = chance(1)
    for _ in range(drawn(300, 20_000)):
        torn = bytearray(packet(("10.0.0.1", 5000), MIRROR, bytes(16)))
        for _ in range(rng.randrange(1, 4)):
            torn[rng.randrange(len(torn))] = rng.randrange(256)
        times([(BEGIN_NS, bytes(torn[: rng.randrange(len(torn) + 1)]))])


def test_captured_times_in_microseconds_are_read() -> None:
    request = packet(("10.0.0.1", 5000), MIRROR, bytes(16))
    answer = packet(MIRROR, ("10.0.0.1", 5000), bytes(16))
    begin_ns = BEGIN_NS // 1000 * 1000
    data = pcap([(begin_ns, request), (begin_ns + 7000, answer)], RAW_IP, in_ns=False)
    assert stack_times_ns([*captured_frames(data)], *MIRROR) == [7000]


def test_stack_time_values_have_count_sum_mean_extremes_and_histogram() -> None:
    values = stack_values([100, 200, 300])
    assert (values["stack_count"], values["stack_sum_ns"], values["stack_mean_ns"]) == (3, 600, 200)
    assert (values["stack_min_ns"], values["stack_max_ns"]) == (100, 300)
    pairs = values["stack_histogram"]
    assert isinstance(pairs, list)
    histogram = from_pairs([int(number) for number in pairs])
    assert (histogram.count, histogram.percentile(0.5)) == (3, 200)
