"""How datagrams are handed over: one a call, many by one, or as frames of our own."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest
from namespaces import cable
from netprobe_agents import Agent, agents, netprobe
from round_trip_peers import TOKEN
from sent_frames import ENTER, ROOM, checksum_errors, fitting, hello, stream_over

pytestmark = pytest.mark.lab

__all__ = ["agents", "cable", "netprobe"]

METHODS = ("plain", "batch", "packet")
OF_EACH = (("plain", 1371), ("batch", 1), ("packet", 1), ("packet", 1371))
"""Method and size of what CI sends; the other rows are the night's."""


@pytest.mark.parametrize(
    ("method", "size"),
    [
        pytest.param(method, size, marks=() if (method, size) in OF_EACH else pytest.mark.night)
        for method in METHODS
        for size in (1, 18, 64, 1371)
    ],
)
def test_each_send_method_carries_each_message_once_and_unchanged(
    cable: tuple[str, str], netprobe: Path, method: str, size: int
) -> None:
    """Each arrives once, whole, and its checksum is right."""
    count = fitting(size)
    words = (f"count={count}", f"message={size}", ROOM)
    sender_record, receiver_record = stream_over(
        cable, netprobe, *words, sample=(f"method={method}", "message_rate=5000")
    )
    assert (sender_record["sent_messages"], receiver_record["total_messages"]) == (count, count)
    assert receiver_record["lost_messages"] == receiver_record["foreign_messages"] == 0
    assert (
        receiver_record.get("duplicate_messages", 0)
        == receiver_record.get("reordered_messages", 0)
        == 0
    )
    assert receiver_record["total_bytes"] == count * size
    assert checksum_errors(cable[0]) == 0
    assert sender_record["send_method"] == method
    assert ("send_calls" in sender_record) == (method != "plain")
    assert ("send_call_median_ns" in sender_record) == (method == "plain")
    assert receiver_record["receive_method"] == "blocking"
    assert receiver_record["receive_steering"] == "none"
    if method == "packet":
        assert sender_record["dont_fragment"] == 1


def test_a_polling_receiver_takes_several_messages_per_poll(
    cable: tuple[str, str], netprobe: Path
) -> None:
    sender_record, receiver_record = stream_over(
        cable, netprobe, "count=400", "message=64", ROOM,
        sample=("message_rate=20000",), receiving=("poll=1",),
    )  # fmt: skip
    assert (sender_record["sent_messages"], receiver_record["total_messages"]) == (400, 400)
    assert receiver_record["receive_method"] == "polling"
    # Two come in the time between two looks.
    assert receiver_record["marks"] < 0.9 * 400


@pytest.mark.parametrize("method", METHODS)
def test_each_send_method_carries_messages_over_ipv6(
    cable: tuple[str, str], netprobe: Path, method: str
) -> None:
    for number, name in enumerate(cable, 1):
        subprocess.run(
            ["ip", "-n", name, "addr", "add", f"fd09::{number}/64", "dev", "cable", "nodad"],
            check=True,
        )
    sender_record, receiver_record = stream_over(
        cable, netprobe, "count=300", "message=101", ROOM,
        sample=(f"method={method}", "message_rate=5000"), to="fd09::1",
    )  # fmt: skip
    assert sender_record["sent_messages"] == receiver_record["total_messages"] == 300


@pytest.mark.parametrize("method", ["batch", "packet"])
def test_a_paced_batch_is_small_and_an_unpaced_batch_is_large(
    cable: tuple[str, str], netprobe: Path, method: str
) -> None:
    slow, _ = stream_over(
        cable, netprobe, "count=200", "message=64",
        sample=(f"method={method}", "message_rate=1000"),
    )  # fmt: skip
    # At a thousand a second hardly two are ever due at once, but on a machine that stands still.
    assert 100 < slow["send_calls"] <= slow["sent_messages"] == 200
    assert slow["elapsed_ns"] > 0.9 * 199e6
    fast, receiver_record = stream_over(
        cable, netprobe, "count=20001", "message=64", sample=(f"method={method}",)
    )
    assert fast["sent_messages"] == 20001
    assert 20001 / 32 <= fast["send_calls"] < 20001 / 8
    assert receiver_record["total_messages"] + receiver_record["lost_messages"] == 20001


@pytest.mark.parametrize("method", METHODS)
def test_a_shaper_limits_the_throughput_of_each_send_method(
    cable: tuple[str, str], netprobe: Path, method: str
) -> None:
    shape = "qdisc add dev cable root tbf rate 8mbit burst 5000 latency 20ms"
    subprocess.run([*ENTER, cable[1], "tc", *shape.split()], check=True)
    _, receiver_record = stream_over(
        cable, netprobe, "seconds=0.4", "message=1000", "socket_buffer=20000",
        sample=(f"method={method}",),
    )  # fmt: skip
    # Without the shaper, it would be hundreds of Mbit/s.
    assert 0 < receiver_record["throughput_bit_per_s"] < 2 * 8e6


def test_only_the_packet_method_refuses_a_message_over_the_mtu(
    cable: tuple[str, str], netprobe: Path
) -> None:
    words = ("count=20", "message=1373")
    error, _ = stream_over(cable, netprobe, *words, sample=("method=packet",), deadline_s=3)
    assert (error["error"], error["key"]) == ("message-too-long", "message")
    assert error["path_mtu_bytes"] == 1400
    sender_record, receiver_record = stream_over(cable, netprobe, *words, sample=("method=batch",))
    assert sender_record["sent_messages"] == receiver_record["total_messages"] == 20


def test_packet_frames_follow_the_route_over_a_router(
    cable: tuple[str, str], netprobe: Path
) -> None:
    """Over a router: the frame's address is the router's, the datagram's the peer's."""
    router, names = f"dgram-r-{os.getpid()}", cable
    ip = ("ip", "-n", router)
    subprocess.run(["ip", "netns", "add", router], check=True)
    try:
        subprocess.run([*ENTER, router, "sysctl", "-qw", "net.ipv4.ip_forward=1"], check=True)
        for number, name in enumerate(names, 1):
            subprocess.run(
                [*ip, "link", "add", f"to{number}", "type", "veth",
                 "peer", "name", "routed", "netns", name],
                check=True,
            )  # fmt: skip
            subprocess.run(
                [*ip, "addr", "add", f"10.9.{number}.254/24", "dev", f"to{number}"], check=True
            )
            subprocess.run([*ip, "link", "set", f"to{number}", "up"], check=True)
            for words in (
                f"addr add 10.9.{number}.1/24 dev routed",
                "link set routed up",
                f"route add 10.9.{3 - number}.0/24 via 10.9.{number}.254",
            ):
                subprocess.run(["ip", "-n", name, *words.split()], check=True)
        sender_record, receiver_record = stream_over(
            cable, netprobe, "count=300", "message=18", ROOM,
            sample=("method=packet", "message_rate=5000"), to="10.9.1.1",
        )  # fmt: skip
        assert sender_record["sent_messages"] == receiver_record["total_messages"] == 300
    finally:
        subprocess.run(["ip", "netns", "del", router], check=False, capture_output=True)


@pytest.mark.needs("root", "setpriv")
def test_the_packet_method_needs_the_right_to_use_raw_sockets(netprobe: Path) -> None:
    bare = ("setpriv", "--bounding-set", "-net_raw", "--inh-caps", "-net_raw")
    assert {"batch", "packet"} <= hello(netprobe, "hello")
    assert "batch" in hello(*bare, netprobe, "hello")
    assert "packet" not in hello(*bare, netprobe, "hello")
    process = subprocess.run(
        [*bare, netprobe, "send", "proto=udp", "to=127.0.0.1:5001", "method=packet",
         f"token={TOKEN}"],
        capture_output=True, check=False, text=True,
    )  # fmt: skip
    refusal = json.loads(process.stdout)
    assert (refusal["error"], refusal["key"]) == ("capability-missing", "method")
    assert "CAP_NET_RAW" in refusal["detail"]
    # Its administrator can allow it: a resumed run asks again.
    assert refusal["errno"] == errno.EPERM


@pytest.mark.needs("root")
def test_the_packet_method_is_refused_over_loopback(agents: tuple[Agent, Agent]) -> None:
    receiver, sender = agents
    keys = {"proto": "udp", "token": TOKEN, "message": 64, "seconds": 0.2}
    ready = receiver.ask("receive", bind="127.0.0.1", **keys)
    refusal = sender.ask("send", to=f"127.0.0.1:{ready['port']}", method="packet", **keys)
    assert (refusal["error"], refusal["key"]) == ("capability-missing", "method")
