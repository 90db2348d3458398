"""A relay between two cables that loses, repeats, delays and damages frames, and counts them.

Run by ``relaying`` in the namespace between two hosts: it hands every frame from one interface to
the other, and of the data messages (UDP over IPv4, of one length) it drops, doubles and holds back
a share, or damages it. What it did is printed as JSON once its input ends.
"""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

SOL_PACKET, PACKET_VNET_HDR, PACKET_STATISTICS = 263, 15, 6
VNET_HEADER_BYTES = 10
"""In front of each frame: what a card would still have to do to it, which so stays to be done."""
OUTGOING = 4
ALL_PROTOCOLS = 3
HEADERS_BYTES = 14 + 20 + 8
CHECKSUM_AT = 14 + 20 + 6
HELD_BEHIND, HELD_S = 3, 0.2
"""A frame held back goes out behind so many later ones, or after this time."""
QUEUE_BYTES = 8 << 20


@dataclass
class Way:
    """One direction: what happens to its data messages, as shares, and what happened."""

    loss: float = 0.0
    repeat: float = 0.0
    delay: float = 0.0
    damage: float = 0.0
    data: int = 0
    """Data messages that came in."""
    lost: int = 0
    repeated: int = 0
    overtaken: int = 0
    """Delayed until a later one had gone out."""
    damaged: int = 0


@dataclass
class Relay:
    """Both directions, by the name of the interface that frames come in by."""

    message_bytes: int
    ways: dict[str, Way]
    seed: int
    held: dict[str, list[tuple[bytes, float, int]]] = field(default_factory=dict)
    missed: int = 0

    def run(self) -> None:
        """Relay until standard input ends."""
        rng = Random(self.seed)  # noqa: S311
        sockets = {name: _socket(name) for name in self.ways}
        names = {endpoint.fileno(): name for name, endpoint in sockets.items()}
        peer_names = dict(zip(sockets, reversed(sockets), strict=True))
        self.held = {name: [] for name in sockets}
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            ready, _, _ = select.select([*names, 0], [], [], 0.02)
            for name in sockets:
                self._release(name, sockets[peer_names[name]], 0)
            if 0 in ready and not sys.stdin.buffer.read(1):
                break
            for number in ready:
                if number in names:
                    name = names[number]
                    frame, address = sockets[name].recvfrom(1 << 17)
                    if address[2] != OUTGOING:
                        self._relay(name, frame, sockets[peer_names[name]], rng)
        for endpoint in sockets.values():
            _, missed = _statistics(endpoint)
            self.missed += missed
        counts = {name: asdict(way) for name, way in self.ways.items()}
        sys.stdout.write(json.dumps(counts | {"missed": self.missed}) + "\n")

    def _relay(self, name: str, frame: bytes, out: socket.socket, rng: Random) -> None:
        way = self.ways[name]
        if not self._is_data(frame[VNET_HEADER_BYTES:]):
            if _is_udp(frame[VNET_HEADER_BYTES:]):
                self._release(name, out, 0, all_of_them=True)
            out.send(frame)
            return
        way.data += 1
        draw = rng.random()
        if draw < way.loss:
            way.lost += 1
            return
        if draw > 1 - way.damage:
            way.damaged += 1
            frame = _damaged(frame)
        if draw < way.loss + way.delay:
            self.held[name].append((frame, time.monotonic() + HELD_S, HELD_BEHIND))
            return
        out.send(frame)
        if draw < way.loss + way.delay + way.repeat:
            out.send(frame)
            way.repeated += 1
        self._release(name, out, 1)

    def _release(
        self, name: str, out: socket.socket, behind: int, all_of_them: bool = False
    ) -> None:
        """Send what was held back long enough: ``behind`` more frames have gone out now.

        A message that is not data ends the flow. Nothing is held back longer: a receiver counts
        as lost what comes more than 20 ms after it.
        """
        queue = []
        for frame, until, ahead in self.held[name]:
            if all_of_them or ahead - behind <= 0 or time.monotonic() > until:
                out.send(frame)
                self.ways[name].overtaken += ahead - behind < HELD_BEHIND
            else:
                queue.append((frame, until, ahead - behind))
        self.held[name] = queue

    def _is_data(self, frame: bytes) -> bool:
        return _is_udp(frame) and len(frame) == HEADERS_BYTES + self.message_bytes


def _damaged(frame: bytes) -> bytes:
    """The frame with a checksum that is wrong, and that no card has still to compute."""
    at = VNET_HEADER_BYTES + CHECKSUM_AT
    wrong = (int.from_bytes(frame[at : at + 2], "big") ^ 0x5A5A) or 1  # 0 means: no checksum
    return (
        bytes(VNET_HEADER_BYTES)
        + frame[VNET_HEADER_BYTES:at]
        + wrong.to_bytes(2, "big")
        + (frame[at + 2 :])
    )


def _is_udp(frame: bytes) -> bool:
    return frame[12:14] == b"\x08\x00" and frame[23] == socket.IPPROTO_UDP


def _socket(name: str) -> socket.socket:
    endpoint = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    endpoint.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
    endpoint.setsockopt(socket.SOL_SOCKET, 33, QUEUE_BYTES)  # SO_RCVBUFFORCE
    endpoint.bind((name, ALL_PROTOCOLS))
    return endpoint


def _statistics(endpoint: socket.socket) -> tuple[int, int]:
    data = endpoint.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
    return int.from_bytes(data[:4], sys.byteorder), int.from_bytes(data[4:], sys.byteorder)


@contextmanager
def relaying(
    namespace: str, message_bytes: int, seed: int, **ways: dict[str, float]
) -> Iterator[dict[str, Any]]:
    """Relay between the interfaces ``ways`` of a namespace; what it counted, once it is over."""
    request = json.dumps({"message_bytes": message_bytes, "seed": seed, "ways": ways})
    argv = ["ip", "netns", "exec", namespace, sys.executable, str(Path(__file__)), request]
    counts: dict[str, Any] = {}
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield counts
        finally:
            out, _ = process.communicate(timeout=60)
            counts.update(json.loads(out) if out else {})


if __name__ == "__main__":
    request = json.loads(sys.argv[1])
    Relay(
        request["message_bytes"],
        {name: Way(**shares) for name, shares in request["ways"].items()},
        request["seed"],
    ).run()
