"""One direction of a path in a payload search: tries whether messages of a size arrive."""

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
"""Number of round trips that try a UDP size, all at the same time: one answer is enough."""

UNHEARD: Mapping[str, Mapping[str, Evidence]] = {
    "TCP": {"deadline": "timeout"},
    "UDP": {"no-answer": "timeout", "no-buffers": "dropped"},
}
"""Protocol → reason that a probe reports if its messages are lost → evidence (why the size does not
pass). Linux reports `no-buffers` if an interface drops a message that the system has accepted as
short enough."""

SETTLE_S = {"TCP": SETTLE_TCP_S, "UDP": 10.0}
"""Time that a try may take beyond its time-out. Over UDP, the probe itself reports that no answer
came. Over TCP, a try with unacknowledged data ends only at its deadline."""


@dataclass(slots=True)
class Direction:
    """The direction from the asking end, which is the client of ``ends``, to the answering end."""

    setup: PayloadSearch
    ends: Ends
    facts: Mapping[str, Any] | None = None
    """Facts of the asking end with its route to the other end, if they are known already."""
    results: dict[int, tuple[Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=dict)
    """Size → results of both ends for its last successful exchange."""

    def exchange(self, message_bytes: int, *, whole: bool = True) -> None:
        """Do round trips of one size; ProbeError if no answer came.

        ``whole``: whether UDP messages must stay in one packet.
        """
        setup = self.setup
        udp = setup.protocol == "UDP"
        round_trip = RoundTrip(
            # At most ``TRIES`` messages are under way: the default buffers are enough.
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
        """Lost messages of sizes that pass: if there are any, the path has random loss."""
        return sum(int(asker.get("lost_messages", 0)) for asker, _ in self.results.values())

    @property
    def addresses(self) -> tuple[str, str]:
        """Test addresses of the asking and the answering end."""
        asking, answering = (self.ends.address(end, self.setup) for end in ("client", "server"))
        return asking, answering

    def interface_mtu_bytes(self) -> int | None:
        """MTU of the asking end's interface towards the other end; ``None`` if not reported."""
        try:
            facts = self.facts or self.ends.client.facts(to=self.addresses[1])
        except ProbeError:
            return None
        mtu_bytes = facts.get("interface_mtu_bytes")
        return mtu_bytes if isinstance(mtu_bytes, int) else None

    def fragments(self, message_bytes: int) -> dict[str, Value]:
        """Whether a UDP message that is too long for one packet passes if it may be fragmented, and
        both hosts' counts of its fragments.

        Hosts count no fragments of a message that must not be fragmented, even if it arrives.
        """
        try:
            self.exchange(message_bytes, whole=False)
        except ProbeError as fault:
            if fault.word in UNHEARD["UDP"]:
                return {"next_passed": False}
            return {}
        asker, mirror = self.results[message_bytes]
        return {"next_passed": True} | {
            f"next_{prefix}{name}": value
            for prefix, result in (("client_", asker), ("server_", mirror))
            for name, value in result.items()
            if name.startswith("ip_")
        }
