"""What a failed stream says about the packets of which nothing arrived, by both hosts' counters."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from draws import chance, drawn

from netlab.errors import HostGone, ProbeError
from netlab.kinds import Stream
from netlab.measurement.ends import Ends
from netlab.measurement.host_watch import DropWatch
from netlab.measurement.stream import Flow, _explained

SENT, RECEIVED = "interface_sent_packets", "interface_received_packets"
FAULT = ProbeError("linux-b", "no-traffic", detail="the peer came, and no message arrived")


class Reading:
    """An answer of a host, or ``None`` if the host is lost."""

    def __init__(self, facts: Mapping[str, Any] | None) -> None:
        self.of = facts

    def record(self, _timeout_s: float) -> Mapping[str, Any]:
        if self.of is None:
            raise HostGone("linux-a: gone")
        return self.of


def said(
    protocol: str,
    messages: int,
    left: tuple[Mapping[str, Any] | None, Mapping[str, Any]],
    came: tuple[Mapping[str, Any] | None, Mapping[str, Any]],
    fault: ProbeError = FAULT,
) -> ProbeError:
    """The fault of a stream from the client ``linux-a`` to the server ``linux-b``, explained.
    ``left``, ``came``: the first and the last facts of these hosts.
    """
    a, b = (SimpleNamespace(host=SimpleNamespace(name=f"linux-{letter}")) for letter in "ab")
    sender = SimpleNamespace(agent=a, result={"sent_messages": messages}, fault=None)
    receiver = SimpleNamespace(agent=b, result=None, fault=fault)
    sides = (receiver, sender)
    flow = cast("Flow", SimpleNamespace(sender=sender, receiver=receiver, sides=sides))
    stream = Stream(protocol=cast("Any", protocol), message_bytes=1000)
    watch = DropWatch(cast("Ends", SimpleNamespace(client=a)), stream)
    readings = [
        {"client": Reading(of_client), "server": Reading(of_server)}
        for of_client, of_server in zip(left, came, strict=True)
    ]
    watch.before, watch.after = cast("Any", readings)
    return _explained(fault, [flow], watch)


def test_the_place_is_the_first_that_less_than_half_of_the_packets_passed() -> None:
    draw = chance(42)
    for _ in range(drawn(200, 3000)):
        protocol = draw.choice(["UDP", "TCP"])
        fragments = draw.choice([1, 1, 6]) if protocol == "UDP" else 1
        messages = draw.randint(20, 10_000)
        place = draw.choice(["linux-a", "on the way", "linux-b"])
        packets = fragments * messages
        left = draw.randint(0, messages // 2 - 1) if place == "linux-a" else packets
        came = draw.randint(0, left // 3) if place == "on the way" else left
        begun = draw.randint(0, 1 << 40), draw.randint(0, 1 << 40)
        fault = said(
            protocol,
            messages,
            ({SENT: begun[0]}, {SENT: begun[0] + left}),
            ({RECEIVED: begun[1]}, {RECEIVED: begun[1] + came}),
        )
        assert (fault.host, fault.word) == ("linux-b", "no-traffic")
        unit = "packet" if left == 1 else "packets"
        head = (
            f"{left} {unit} of {messages} messages left linux-a, {came} reached linux-b: dropped "
        )
        assert fault.detail.startswith(head)
        if place == "on the way":
            assert fault.detail.startswith(head + "on the way")
        elif place == "linux-b" or protocol == "UDP":
            assert fault.detail.startswith(f"{head}in {place}, as by its firewall")
        is_told = "6 fragments of a message" in fault.detail
        assert is_told == (fragments == 6 and place != "linux-a")


@pytest.mark.parametrize(
    ("left", "came"),
    [
        ((None, {SENT: 9}), ({RECEIVED: 0}, {RECEIVED: 9})),
        (({SENT: 0}, {SENT: 9}), ({}, {})),
        (({SENT: 0}, {}), ({RECEIVED: 0}, {RECEIVED: 9})),
    ],
)
def test_without_the_counters_of_both_hosts_the_fault_stays_as_the_probe_reported_it(
    left: Any, came: Any
) -> None:
    assert said("UDP", 9, left, came) is FAULT


def test_a_fault_of_another_kind_stays_as_the_probe_reported_it() -> None:
    readings = ({SENT: 0}, {SENT: 9}), ({RECEIVED: 0}, {RECEIVED: 9})
    fault = ProbeError("linux-b", "peer-vanished", detail="gone")
    assert said("UDP", 9, *readings, fault=fault) is fault
