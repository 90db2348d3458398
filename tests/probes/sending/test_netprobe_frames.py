"""Frames past the systems at both ends: sent from memory by AF_XDP, and taken before IP."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from pathlib import Path

import pytest
from namespaces import cable
from netprobe_agents import Agent, agents, netprobe, trial
from round_trip_peers import TOKEN
from sent_frames import ENTER, ROOM, checksum_errors, fitting, hello, stream_over

pytestmark = pytest.mark.lab

__all__ = ["agents", "cable", "netprobe"]

TAKEN = ("from=packet", "poll=1")
OF_EACH = (("plain", 1372), ("batch", 48), ("packet", 18), ("xdp", 1))
"""Method and size of what CI takes; the other rows are the night's."""


def both_ipv6(cable: tuple[str, str]) -> str:
    """The receiver's address, of IPv6."""
    for number, name in enumerate(cable, 1):
        address = f"fd09::{number}/64"
        words = ["addr", "add", address, "dev", "cable", "nodad"]
        subprocess.run(["ip", "-n", name, *words], check=True)
    return "fd09::1"


@pytest.mark.parametrize(
    "size", [1, 1371, *(pytest.param(size, marks=pytest.mark.night) for size in (18, 64))]
)
def test_xdp_frames_carry_each_message_once_and_unchanged(
    cable: tuple[str, str], netprobe: Path, size: int
) -> None:
    """Each arrives once, whole, and its checksum is right."""
    count = fitting(size)
    words = (f"count={count}", f"message={size}", ROOM)
    sender_record, receiver_record = stream_over(
        cable, netprobe, *words, sample=("method=xdp", "message_rate=5000")
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
    assert (
        sender_record["send_method"],
        sender_record["dont_fragment"],
        sender_record["local_drops"],
    ) == ("xdp", 1, 0)
    assert 0 < sender_record["send_calls"] <= count


def test_xdp_frames_carry_messages_over_ipv6(cable: tuple[str, str], netprobe: Path) -> None:
    sender_record, receiver_record = stream_over(
        cable, netprobe, "count=300", "message=101", ROOM,
        sample=("method=xdp", "message_rate=5000"), to=both_ipv6(cable),
    )  # fmt: skip
    assert sender_record["sent_messages"] == receiver_record["total_messages"] == 300


def test_an_unpaced_xdp_sender_sends_many_messages_per_call(
    cable: tuple[str, str], netprobe: Path
) -> None:
    sender_record, receiver_record = stream_over(
        cable, netprobe, "count=20001", "message=64", sample=("method=xdp",)
    )
    assert sender_record["sent_messages"] == 20001
    assert 20001 / 32 <= sender_record["send_calls"] < 20001 / 8
    assert receiver_record["total_messages"] + receiver_record["lost_messages"] == 20001


def test_xdp_frames_bypass_the_queueing_discipline_of_the_interface(
    cable: tuple[str, str], netprobe: Path
) -> None:
    """As the documentation says: they go to the interface, not to its queueing discipline."""
    shape = "qdisc add dev cable root tbf rate 8mbit burst 5000 latency 20ms"
    subprocess.run([*ENTER, cable[1], "tc", *shape.split()], check=True)
    sender_record, receiver_record = stream_over(
        cable, netprobe, f"count={fitting(1000)}", "message=1000", ROOM,
        sample=("method=xdp", "message_rate=4000"),
    )  # fmt: skip
    # At four times its rate, the shaper would drop all that 20 ms and its burst have no room for.
    assert sender_record["sent_messages"] == receiver_record["total_messages"] == fitting(1000)


def test_the_methods_xdp_and_capture_refuse_a_message_larger_than_a_frame(
    cable: tuple[str, str], netprobe: Path
) -> None:
    words = ("count=20", "message=1373")
    error, _ = stream_over(cable, netprobe, *words, sample=("method=xdp",), deadline_s=3)
    assert (error["error"], error["key"]) == ("message-too-long", "message")
    _, error = stream_over(cable, netprobe, *words, receiving=TAKEN, deadline_s=3)
    assert (error["error"], error["key"]) == ("message-too-long", "message")


@pytest.mark.parametrize(
    ("method", "size"),
    [
        pytest.param(method, size, marks=() if (method, size) in OF_EACH else pytest.mark.night)
        for method in ("plain", "batch", "packet", "xdp")
        for size in (1, 18, 48, 1372)
    ],
)
def test_a_packet_receiver_takes_each_message_once_and_unchanged(
    cable: tuple[str, str], netprobe: Path, method: str, size: int
) -> None:
    count = fitting(size)
    sender_record, receiver_record = stream_over(
        cable, netprobe, f"count={count}", f"message={size}", ROOM,
        sample=(f"method={method}", "message_rate=5000"), receiving=TAKEN,
    )  # fmt: skip
    assert (sender_record["sent_messages"], receiver_record["total_messages"]) == (count, count)
    assert receiver_record["lost_messages"] == receiver_record["foreign_messages"] == 0
    assert (
        receiver_record.get("duplicate_messages", 0)
        == receiver_record.get("reordered_messages", 0)
        == 0
    )
    assert receiver_record["total_bytes"] == count * size
    assert receiver_record["queue_drops"] == 0
    assert (receiver_record["receive_from"], receiver_record["receive_method"]) == (
        "packet",
        "polling",
    )
    assert "queue_open_bytes" not in receiver_record


def test_a_packet_receiver_takes_messages_over_ipv6(cable: tuple[str, str], netprobe: Path) -> None:
    sender_record, receiver_record = stream_over(
        cable, netprobe, "count=300", "message=101", ROOM,
        sample=("message_rate=5000",), receiving=("from=packet", "spin=1"), to=both_ipv6(cable),
    )  # fmt: skip
    assert sender_record["sent_messages"] == receiver_record["total_messages"] == 300
    assert receiver_record["receive_method"] == "spinning"


@pytest.mark.needs("root")
def test_a_packet_receiver_connects_to_a_listening_sender(agents: tuple[Agent, Agent]) -> None:
    """Over loopback, where a frame passes twice."""
    outcome = trial(
        agents, listener="send", receive={"from": "packet", "poll": 1}, proto="udp", message=200,
        count=400, message_rate=4000,
    )  # fmt: skip
    assert outcome.received["type"] == "result", outcome.received
    assert outcome.received["total_messages"] == 400
    assert outcome.received.get("duplicate_messages", 0) == 0


def test_a_packet_receiver_drops_datagrams_with_a_wrong_checksum(
    cable: tuple[str, str], netprobe: Path
) -> None:
    """As the system does it: of two that the peer sends the right one counts."""
    environment = os.environ | {"NETPROBE_TOKEN": TOKEN}
    ports = {"sport": 40123, "dport": 5001}
    with subprocess.Popen(
        [*ENTER, cable[0], netprobe, "receive", "proto=udp", "bind=10.9.7.1", "port=5001",
         "deadline=20", "message=64", "seconds=1", *TAKEN],
        stdout=subprocess.PIPE, env=environment, text=True,
    ) as receiver:  # fmt: skip
        assert receiver.stdout is not None
        assert json.loads(receiver.stdout.readline())["type"] == "ready"
        sender = subprocess.Popen(
            [*ENTER, cable[1], netprobe, "send", "proto=udp", "to=10.9.7.1:5001", "message=64",
             "seconds=1", "message_rate=1000", f"port={ports['sport']}"],
            stdout=subprocess.PIPE, env=environment, text=True,
        )  # fmt: skip
        wrong = subprocess.run(
            [*ENTER, cable[1], "python3", "-c", SEND_WRONG], check=False, capture_output=True,
        )  # fmt: skip
        sender_record = json.loads(sender.communicate(timeout=60)[0].splitlines()[-1])
        receiver_record = json.loads(receiver.stdout.read().splitlines()[-1])
    assert wrong.returncode == 0, wrong.stderr
    assert receiver_record["foreign_messages"] == 0
    # A receiver that this machine holds up may lose some of the right ones.
    assert 0 < receiver_record["total_messages"] <= sender_record["sent_messages"]


SEND_WRONG = """
import socket, struct, time
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_UDP)
time.sleep(0.5)
for _ in range(50):
    raw.sendto(struct.pack('!4H', 40123, 5001, 72, 0x1234) + bytes(64), ('10.9.7.1', 5001))
"""


@pytest.mark.needs("root", "setpriv")
def test_xdp_and_capture_need_the_right_to_use_raw_sockets(netprobe: Path) -> None:
    bare = ("setpriv", "--bounding-set", "-net_raw", "--inh-caps", "-net_raw")
    assert {"xdp", "capture"} <= hello(netprobe, "hello")
    assert not {"xdp", "capture"} & hello(*bare, netprobe, "hello")
    for words, key in (
        (("send", "to=127.0.0.1:5001", "method=xdp"), "method"),
        (("receive", "bind=127.0.0.1", *TAKEN), "from"),
    ):
        process = subprocess.run(
            [*bare, netprobe, *words, "proto=udp", f"token={TOKEN}"],
            capture_output=True, check=False, text=True,
        )  # fmt: skip
        refusal = json.loads(process.stdout.splitlines()[-1])
        assert (refusal["error"], refusal["key"]) == ("capability-missing", key)
        assert "CAP_NET_RAW" in refusal["detail"]
        assert refusal["errno"] == errno.EPERM


# ---- over TCP ----


@pytest.mark.parametrize("size", [1, 70000])
def test_a_tcp_batch_carries_every_byte_of_its_messages(
    agents: tuple[Agent, Agent], size: int
) -> None:
    outcome = trial(agents, send={"method": "batch"}, proto="tcp", message=size, count=1000)
    assert outcome.sent["sent_messages"] == outcome.received["total_messages"] == 1000
    assert outcome.received["total_bytes"] == 1000 * size
    assert outcome.sent["send_method"] == "batch"
    assert "send_call_median_ns" not in outcome.sent
    if size <= 64:
        assert outcome.sent["send_calls"] <= 1000 / 8


def test_a_tcp_batch_is_not_sent_faster_than_its_rate(agents: tuple[Agent, Agent]) -> None:
    outcome = trial(
        agents, send={"method": "batch", "message_rate": 2000}, proto="tcp", message=100, count=400
    )
    assert outcome.sent["sent_messages"] == outcome.received["total_messages"] == 400
    assert outcome.sent["elapsed_ns"] > 0.9 * 399 / 2000 * 1e9
