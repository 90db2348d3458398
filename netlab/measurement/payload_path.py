"""One direction of a path, as a payload search tries it: a few round trips of one size."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from netlab.errors import ProbeError
from netlab.experiment.estimate import LEAST_MESSAGE_BYTES, SETTLE_TCP_S
from netlab.experiment.kinds import PayloadSearch, RoundTrip
from netlab.experiment.records import Value
from netlab.measurement.conversation import drive
from netlab.measurement.ends import Ends
from netlab.measurement.limit_search import Evidence
from netlab.measurement.round_trips.exchange import exchange_of

TRIES = 3
"""Round trips of each UDP size, all under way at once: one that comes back is enough."""

UNHEARD: Mapping[str, Mapping[str, Evidence]] = {
    "TCP": {"deadline": "timeout"},
    "UDP": {"no-answer": "timeout", "no-buffers": "dropped"},
}
"""Words of a probe whose messages do not come back → the evidence. Linux says `no-buffers` where
its interface drops what its system had taken for short enough."""

SETTLE_S = {"TCP": SETTLE_TCP_S, "UDP": 10.0}
"""What a try may take beyond its time-out. A UDP probe says itself that nothing came back; what TCP
has sent and nobody acknowledges ends with the try's own deadline."""


@dataclass(slots=True)
class Direction:
    """From the end that asks, which is the client of ``ends``, to the one that answers."""

    setup: PayloadSearch
    ends: Ends
    results: dict[int, tuple[Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=dict)
    """Size → what both ends said of its last exchange; those that came to nothing are not there."""

    def exchange(self, message_bytes: int, *, whole: bool = True) -> None:
        """Round trips of one size; ProbeError where none came back.

        ``whole``: whether UDP messages must stay in one packet.
        """
        setup = self.setup
        udp = setup.protocol == "UDP"
        round_trip = RoundTrip(
            # Round trips wait for one another, and fill no buffer: the systems' own do.
            **setup.passed_on(RoundTrip, but={"duration_s", "socket_buffer_bytes"}),
            message_bytes=message_bytes,
            response_bytes=LEAST_MESSAGE_BYTES[setup.protocol],
            duration_s=None,
            count=TRIES if udp else 1,
            outstanding=TRIES if udp else 1,
            dont_fragment=udp and whole,
            nodelay=not udp,
        )
        within_s = setup.timeout_s + SETTLE_S[setup.protocol]
        exchange = exchange_of(round_trip, self.ends, within_s=within_s)
        drive([exchange], within_s, lambda _side, _record: None)
        mirror = exchange.mirror
        answered = mirror.result or {} if mirror is not None else {}
        self.results[message_bytes] = exchange.asker.result or {}, answered

    @property
    def lost(self) -> int:
        """Messages lost of sizes that pass: where there are some, the path loses others too."""
        return sum(int(asked.get("lost_messages", 0)) for asked, _ in self.results.values())

    @property
    def addresses(self) -> tuple[str, str]:
        """Of the asking and the answering end."""
        asking, answering = (self.ends.address(who, self.setup) for who in ("client", "server"))
        return asking, answering

    def interface_mtu_bytes(self) -> int | None:
        """MTU of the asking end's interface towards the other; ``None`` where it is not told."""
        try:
            told = self.ends.client.facts(to=self.addresses[1]).get("interface_mtu_bytes")
        except ProbeError:
            return None
        return told if isinstance(told, int) else None

    def fragments(self, message_bytes: int) -> dict[str, Value]:
        """Whether a UDP message that is too long for one packet comes back where it may be cut up,
        and what both hosts' counters say of its fragments.

        Of what may not be cut up they count nothing, whatever becomes of it.
        """
        try:
            self.exchange(message_bytes, whole=False)
        except ProbeError as fault:
            if fault.word in UNHEARD["UDP"]:
                return {"next_passed": False}
            return {}
        asked, answered = self.results[message_bytes]
        return {"next_passed": True} | {
            f"next_{prefix}{name}": value
            for prefix, result in (("client_", asked), ("server_", answered))
            for name, value in result.items()
            if name.startswith("ip_")
        }
