"""Round trips of datagrams on the wire: whole or too long, without a checksum, with stamps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from namespaces import cable
from netprobe_agents import Reply, agents, netprobe
from round_trip_peers import TOKEN, Agents, done

pytestmark = pytest.mark.lab

__all__ = ["agents", "cable", "netprobe"]


def over(
    cable: tuple[str, str],
    netprobe: Path,
    *words: str,
    mirror: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
    deadline_s: float = 20,
) -> tuple[Reply, Reply]:
    """The last records of an asker in the second namespace and of its mirror in the first."""
    environment = os.environ | {"NETPROBE_TOKEN": TOKEN}
    start = ("ip", "netns", "exec")
    with subprocess.Popen(
        [*start, cable[0], netprobe, "mirror", "proto=udp", "bind=10.9.7.1", "port=5001",
         f"deadline={deadline_s}", *words, *mirror],
        stdout=subprocess.PIPE, env=environment, text=True,
    ) as mirroring:  # fmt: skip
        assert mirroring.stdout is not None
        assert json.loads(mirroring.stdout.readline())["type"] == "ready"
        asker_output = subprocess.run(
            [*start, cable[1], netprobe, "ask", "proto=udp", "to=10.9.7.1:5001",
             "timeout=10", *words, *ask],
            capture_output=True, env=environment, text=True, timeout=60, check=False,
        ).stdout  # fmt: skip
        mirror_output = mirroring.stdout.read()
    return json.loads(asker_output.splitlines()[-1]), json.loads(mirror_output.splitlines()[-1])


def test_a_request_over_the_path_mtu_is_refused_with_the_mtu(
    cable: tuple[str, str], netprobe: Path
) -> None:
    asker_record, _ = over(
        cable, netprobe, "message=1373", "response=16", "dont_fragment=1", "count=3", deadline_s=3
    )
    assert asker_record["error"] == "message-too-long"
    assert asker_record["path_mtu_bytes"] == 1400


def test_a_request_of_exactly_the_path_mtu_is_not_fragmented(
    cable: tuple[str, str], netprobe: Path
) -> None:
    asker_record, mirror_record = over(
        cable, netprobe, "message=1372", "dont_fragment=1", "count=20"
    )
    assert asker_record["transactions"] == 20
    for side in (asker_record, mirror_record):
        assert side["ip_fragments_created"] == side["ip_reassembled"] == 0
        assert side["path_mtu_bytes"] == 1400


def test_an_asker_learns_a_smaller_mtu_on_the_path_from_icmp(
    cable: tuple[str, str], netprobe: Path
) -> None:
    """Beyond a router the path is narrower; its word ends the test at once, and not a time-out."""
    ip = ("ip", "-n", cable[0])
    for words in (
        "link add narrow type veth peer name far",
        "addr add 10.9.8.1/24 dev narrow",
        "link set narrow mtu 1300 up",
        "link set far up",
    ):
        subprocess.run([*ip, *words.split()], check=True)
    subprocess.run(
        ["ip", "netns", "exec", cable[0], "sysctl", "-qw", "net.ipv4.ip_forward=1"], check=True
    )
    subprocess.run(
        ["ip", "-n", cable[1], "route", "add", "10.9.8.0/24", "via", "10.9.7.1"], check=True
    )
    asker_record = json.loads(
        subprocess.run(
            ["ip", "netns", "exec", cable[1], netprobe, "ask", "peer=echo", "proto=udp",
             "to=10.9.8.9:7", "message=1300", "dont_fragment=1", "count=5", "timeout=5"],
            capture_output=True, text=True, timeout=60, check=False,
        ).stdout.splitlines()[-1]
    )  # fmt: skip
    assert asker_record["error"] == "message-too-long"
    assert asker_record["path_mtu_bytes"] == 1300


WATCH = """
import socket, struct
watcher = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
watcher.bind(("cable", 0x0800))
watcher.settimeout(60)
print("ready", flush=True)
try:
    while True:
        frame = watcher.recv(4096)
        if frame[23] == 17 and len(frame) == 14 + 20 + 8 + 64:
            print(struct.unpack(">H", frame[40:42])[0], flush=True)
except TimeoutError:
    pass
"""
"""The UDP checksums of datagrams with 64 bytes that come in over the cable."""


@pytest.mark.parametrize("without", [False, True])
def test_requests_without_a_checksum_have_a_zero_field_on_the_wire(
    cable: tuple[str, str], netprobe: Path, without: bool
) -> None:
    words = ("message=64", "count=10", *(["no_checksum=1"] if without else []))
    with subprocess.Popen(
        ["ip", "netns", "exec", cable[0], sys.executable, "-c", WATCH],
        stdout=subprocess.PIPE,
        text=True,
    ) as watcher:
        assert watcher.stdout is not None
        assert watcher.stdout.readline() == "ready\n"
        asker_record, _ = over(cable, netprobe, *words)
        sums = [int(watcher.stdout.readline()) for _ in range(10)]
        watcher.kill()
    assert asker_record["transactions"] == 10
    assert {value == 0 for value in sums} == {without}


# ---- stamps ----


@pytest.mark.parametrize("address", ["127.0.0.1", "::1"])
def test_a_mirror_reports_the_time_of_messages_in_its_network_stack(
    agents: Agents, address: str
) -> None:
    outcome = done(
        agents,
        proto="udp",
        message=64,
        count=200,
        address=address,
        mirror={"stamps": 1},
        ask={"message_rate": 400},
    )
    stack = outcome.mirrored
    assert stack["stack_stamps"] == "software"
    # Linux begins to stamp what comes in a moment after it was asked to.
    assert 100 <= stack["stack_count"] <= 200
    assert sum(stack["stack_histogram"][1::2]) == stack["stack_count"]
    assert 0 < stack["stack_min_ns"] <= stack["stack_mean_ns"] <= stack["stack_max_ns"]
    # The stack's part of a round trip is less than all of it.
    assert stack["stack_sum_ns"] < outcome.asked["rtt_sum_ns"]


def test_the_time_in_the_network_stack_includes_the_hold_of_the_mirror(agents: Agents) -> None:
    outcome = done(agents, proto="udp", message=64, count=80, mirror={"stamps": 1, "hold": 0.003})
    assert outcome.mirrored["stack_min_ns"] >= 3_000_000
    assert outcome.mirrored["stack_sum_ns"] < outcome.asked["rtt_sum_ns"]


@pytest.mark.alone
@pytest.mark.night
def test_a_mirror_that_times_its_network_stack_spins_on_request(agents: Agents) -> None:
    slow: dict[str, Any] = {"message_rate": 50, "seconds": 0.5}
    sleeping, spinning = (
        done(agents, proto="udp", message=64, ask=slow, mirror={"stamps": 1, **more}).mirrored
        for more in ({}, {"spin": 1})
    )
    assert spinning["stack_count"] > 0
    # A thread that is woken 50 times a second needs next to nothing; one that spins, what there is.
    assert spinning["thread_ns"] > 10 * sleeping["thread_ns"]


def test_a_mirror_reports_the_time_in_its_network_stack_over_a_cable(
    cable: tuple[str, str], netprobe: Path
) -> None:
    asker_record, mirror_record = over(
        cable, netprobe, "message=18", "count=300", mirror=("stamps=1",), ask=("message_rate=600",)
    )
    assert asker_record["transactions"] == 300
    assert 150 <= mirror_record["stack_count"] <= 300
    assert mirror_record["stack_sum_ns"] < asker_record["rtt_sum_ns"]


def test_a_mirror_that_does_not_time_its_network_stack_reports_no_stack_time(
    agents: Agents,
) -> None:
    mirror_record = done(agents, proto="udp", message=64, count=20).mirrored
    assert not [key for key in mirror_record if key.startswith("stack_")]


def test_records_of_round_trips_have_the_effective_dscp_and_buffers(agents: Agents) -> None:
    keys: dict[str, Any] = {"dscp": 46, "socket_buffer": 65536}
    outcome = done(agents, proto="udp", message=64, count=20, **keys)
    for side in (outcome.asked, outcome.mirrored):
        assert side["dscp"] == 46
        assert side["send_buffer_bytes"] == side["receive_buffer_bytes"] == 131072
