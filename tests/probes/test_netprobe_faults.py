"""What a peer, a stranger or the system can do to a test; and what options did, as read back."""

from __future__ import annotations

import os
import secrets
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from netprobe_agents import (
    PATIENCE_S,
    Agent,
    Opened,
    agents,
    at,
    netprobe,
    open_trial,
    outlasting,
    trial,
)
from ports import own_port

pytestmark = pytest.mark.lab

__all__ = ["agents", "netprobe"]

Agents = tuple[Agent, Agent]
TOKEN = "00112233445566778899aabbccddeeff"


# ---- requested and effective ----


def sysctl(name: str) -> int:
    return int(Path(f"/proc/sys/{name}").read_text())


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_records_of_both_ends_have_the_effective_socket_buffers(
    agents: Agents, protocol: str
) -> None:
    outcome = trial(agents, proto=protocol, socket_buffer=65536, count=50, message_rate=1000)
    for side in (outcome.received, outcome.sent):
        for direction in ("send", "receive"):
            assert side[f"{direction}_buffer_requested_bytes"] == 65536
            assert side[f"{direction}_buffer_bytes"] == 131072
            assert side[f"{direction}_buffer_doubled"] == 1
            assert f"{direction}_buffer_capped" not in side


def test_a_capped_socket_buffer_is_flagged(agents: Agents) -> None:
    outcome = trial(agents, proto="udp", socket_buffer=1 << 30, count=50, message_rate=1000)
    for side in (outcome.received, outcome.sent):
        assert side["send_buffer_bytes"] <= 2 * sysctl("net/core/wmem_max")
        assert side["receive_buffer_bytes"] <= 2 * sysctl("net/core/rmem_max")
        assert side["send_buffer_capped"] == side["receive_buffer_capped"] == 1
        assert "send_buffer_doubled" not in side


def test_a_default_socket_buffer_is_not_flagged(agents: Agents) -> None:
    receiver_record = trial(agents, count=50).received
    assert receiver_record["receive_buffer_bytes"] > 0
    assert not {"receive_buffer_requested_bytes", "receive_buffer_capped"} & receiver_record.keys()


def test_records_have_the_effective_tcp_options_and_the_counters_of_tcp(agents: Agents) -> None:
    outcome = trial(agents, nodelay=1, congestion="reno", dscp=10, seconds=0.5)
    for side in (outcome.received, outcome.sent):
        assert (side["nodelay"], side["congestion"], side["dscp"]) == (1, "reno", 10)
        assert "timestamps" in side["tcp_end_options"]
        assert "dont_fragment" not in side
    acked = outcome.sent["tcp_end_bytes_acked"] - outcome.sent["tcp_begin_bytes_acked"]
    assert outcome.sent["sent_bytes"] == acked > 0
    assert outcome.sent["tcp_open_snd_mss"] > 0
    assert outcome.received["tcp_end_bytes_received"] > outcome.received["tcp_begin_bytes_received"]


def test_records_have_figures_of_the_cpu_the_clock_and_the_interface(agents: Agents) -> None:
    cpu = min(os.sched_getaffinity(0))
    outcome = trial(agents, seconds=2, cpu=cpu)
    for side in (outcome.received, outcome.sent):
        assert side["cpu"] == cpu
        assert 0 < side["thread_ns"] < 2 * side["elapsed_ns"]
        assert 0 <= side["host_busy_share"] <= side["host_busiest_core_share"] <= 1
        assert 0 <= side["host_steal_share"] <= 1
        assert abs(side["raw_clock_ppm"]) < 500_000  # a machine may pause between its two clocks
        assert "wall_step_ns" not in side
        assert side["user_ns"] + side["system_ns"] > 0
        assert side["interface"] == "lo"
        # Running or waiting for a CPU, a thread does one of both at most.
        assert side["run_queue_delay_ns"] + side["thread_ns"] < 2 * side["elapsed_ns"]
    assert outcome.received["queue_looks"] >= 1
    assert 0 <= outcome.received["queue_full_share"] <= 1
    assert outcome.received["interface_received_bytes"] >= outcome.received["total_bytes"]


def test_a_sender_uses_the_requested_source_port(agents: Agents) -> None:
    port = own_port()
    for _ in range(2):
        outcome = trial(agents, count=30, send={"port": port})
        assert outcome.received["peer_port"] == port


# ---- strangers ----


def tcp_attack(port: int, stop: threading.Event) -> None:
    """Wrong tokens, half a preface and silence, random bytes, connections that go at once."""
    attacks = (secrets.token_bytes(32), bytes(32), b"slow", b"", os.urandom(5000))
    with ExitStack() as callers:
        while not stop.is_set():
            for attack in attacks:
                caller = callers.enter_context(socket.socket())
                try:
                    caller.connect(("127.0.0.1", port))
                    caller.sendall(attack)
                except OSError:
                    return  # the listener is closed: all streams are there
                if attack not in (b"slow", b""):
                    caller.close()
            stop.wait(0.005)


def udp_attack(port: int, stop: threading.Event, answers: list[bytes]) -> None:
    """Hellos with a wrong token, data, nonsense, empty datagrams; must never be answered."""
    hello = b"NLPH" + bytes([1, 0, 0, 0]) + secrets.token_bytes(16) + bytes(24)
    answer = b"NLPH" + bytes([2, 0, 0, 0]) + bytes.fromhex(TOKEN)[:15] + bytes(25)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
        caller.setblocking(False)
        caller.connect(("127.0.0.1", port))
        while not stop.is_set():
            for attack in (hello, answer, b"", b"x", os.urandom(48), os.urandom(1000), bytes(12)):
                try:
                    caller.send(attack)
                except OSError:
                    continue
            try:
                answers.append(caller.recv(4096))
            except OSError:
                stop.wait(0.002)


def attacked_trial(
    agents: Agents, attack: Callable[[int, threading.Event], None], **keys: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    receiver, sender = agents
    keys |= {"token": TOKEN}
    listening = receiver.start("receive", bind="127.0.0.1", **keys)
    ready = receiver.next(listening)
    stop = threading.Event()
    attacker = threading.Thread(target=attack, args=(ready["port"], stop))
    attacker.start()
    try:
        time.sleep(0.3)
        sending = keys | outlasting(keys)
        sample = sender.start("send", to=at("127.0.0.1", ready), **sending)
        outcome = Opened(receiver, sender, listening, sample).finish()
    finally:
        stop.set()
        attacker.join()
    assert outcome.received["type"] == outcome.sent["type"] == "result", outcome
    assert receiver.ask("heartbeat")["type"] == "heartbeat"
    return outcome.received, outcome.sent


def test_strangers_on_a_tcp_port_are_not_counted_as_traffic(agents: Agents) -> None:
    receiver_record, sender_record = attacked_trial(
        agents, tcp_attack, seconds=0.3, message=1000, message_rate=2000
    )
    assert receiver_record["strangers"] > 0
    assert receiver_record["peer_port"] == sender_record["local_port"]
    # A busy machine sends less than the rate, but nothing of the strangers is counted.
    assert receiver_record["total_bytes"] == sender_record["total_bytes"] > 0
    rate_bit_per_s = 8e9 * receiver_record["received_bytes"] / receiver_record["elapsed_ns"]
    assert receiver_record["throughput_bit_per_s"] == pytest.approx(rate_bit_per_s)


@pytest.mark.parametrize("message", [12, 1000])
def test_strangers_on_a_udp_port_are_neither_answered_nor_counted(
    agents: Agents, message: int
) -> None:
    answers: list[bytes] = []

    def attack(port: int, stop: threading.Event) -> None:
        udp_attack(port, stop, answers)

    receiver_record, sender_record = attacked_trial(
        agents, attack, proto="udp", seconds=0.3, message=message, message_rate=2000
    )
    assert receiver_record["strangers"] > 0
    assert answers == []
    assert receiver_record["foreign_messages"] == 0
    assert (
        receiver_record["total_messages"] + receiver_record["lost_messages"]
        == sender_record["sent_messages"]
    )
    assert receiver_record["peer_port"] == sender_record["local_port"]


def test_a_receiver_waits_for_a_connection_preface_that_arrives_byte_by_byte(
    agents: Agents,
) -> None:
    receiver, _ = agents
    listening = receiver.start("receive", bind="127.0.0.1", token=TOKEN, count=40, message=100)
    ready = receiver.next(listening)
    preface = bytes.fromhex(TOKEN) + struct.pack(">HH12x", 0, 0)
    with socket.create_connection(("127.0.0.1", ready["port"])) as caller:
        for byte in preface:
            caller.send(bytes([byte]))
            time.sleep(0.005)
        caller.sendall(bytes(4000))
        caller.shutdown(socket.SHUT_WR)
        assert receiver.next(listening, "result", "error")["total_bytes"] == 4000


def test_a_receiver_counts_foreign_and_duplicate_datagrams_separately(agents: Agents) -> None:
    receiver, _ = agents
    listening = receiver.start(
        "receive", bind="127.0.0.1", token=TOKEN, proto="udp", count=30, message=100
    )
    ready = receiver.next(listening)
    token = bytes.fromhex(TOKEN)
    words = struct.unpack(">4I", token)
    tag = words[0] ^ words[1] ^ words[2] ^ words[3]
    hello = struct.pack(">4sBBH16s24x", b"NLPH", 1, 0, 0, token)

    def data(number: int) -> bytes:
        return struct.pack(">IBBHQQ76x", tag, 16, 0, 0, number, time.monotonic_ns())

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as caller:
        caller.settimeout(60)
        caller.connect(("127.0.0.1", ready["port"]))
        for _ in range(2):  # the second one is answered by the running stream
            caller.send(hello)
            assert caller.recv(4096) == struct.pack(">4sBBH16s24x", b"NLPH", 2, 0, 0, token)
        for number in [*range(20), 25, 24, 3, 3, 27]:
            caller.send(data(number))
        caller.send(data(28)[:-1])
        caller.send(data(28) + b"x")
        caller.send(b"\0" * 100)
        caller.send(b"")
        caller.send(struct.pack(">4sBBH16sQ16x", b"NLPH", 3, 0, 0, token, 30))
        result = receiver.next(listening, "result", "error")
    assert result["total_messages"] == 23
    assert result["lost_messages"] == 7
    assert result["duplicate_messages"] == 2
    assert result["reordered_messages"] == 1
    assert result["foreign_messages"] == 4


# ---- peers that go away ----


def test_a_receiver_reports_a_killed_tcp_sender_as_vanished(netprobe: Path) -> None:
    with Agent(netprobe) as receiver, Agent(netprobe) as sender:
        running_trial = open_trial((receiver, sender), seconds=300)
        receiver.next(running_trial.receiving, "progress")
        sender.process.kill()
        assert receiver.next(running_trial.receiving, "error")["error"] == "peer-vanished"


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_sender_reports_a_killed_receiver_as_vanished(netprobe: Path, protocol: str) -> None:
    with Agent(netprobe) as receiver, Agent(netprobe) as sender:
        running_trial = open_trial((receiver, sender), proto=protocol, seconds=300)
        sender.next(running_trial.sample, "progress")
        receiver.process.kill()
        assert sender.next(running_trial.sample, "error")["error"] == "peer-vanished"


@pytest.mark.parametrize(
    ("seconds", "deadline", "error"), [(4, 8, "peer-vanished"), (300, 4, "deadline")]
)
def test_a_receiver_reports_an_error_after_its_udp_sender_was_killed(
    netprobe: Path, seconds: float, deadline: float, error: str
) -> None:
    with Agent(netprobe) as receiver, Agent(netprobe) as sender:
        running_trial = open_trial(
            (receiver, sender), proto="udp", seconds=seconds, deadline=deadline
        )
        receiver.next(running_trial.receiving, "progress")
        sender.process.kill()
        assert receiver.next(running_trial.receiving, "error")["error"] == error


@pytest.mark.parametrize(("ends_s", "type_"), [(1.1, "result"), (0.9, "error")])
def test_a_sender_that_ends_after_a_window_with_rare_data_has_not_vanished(
    agents: Agents, ends_s: float, type_: str
) -> None:
    """Data come every 20 ms, so that silence would close the window of 1 s only 0.4 s after it; as
    on a path whose policer stops TCP for its time-outs, none come for some time before its end.
    """
    receiver, _ = agents
    listening = receiver.start("receive", bind="127.0.0.1", token=TOKEN, seconds=1, message=100)
    ready = receiver.next(listening)
    with socket.create_connection(("127.0.0.1", ready["port"])) as caller:
        caller.sendall(bytes.fromhex(TOKEN) + struct.pack(">HH12x", 0, 0))
        begin = time.monotonic()
        while (elapsed_s := time.monotonic() - begin) < ends_s:
            if elapsed_s < 0.8:
                caller.sendall(bytes(100))
            time.sleep(0.02)
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    outcome = receiver.next(listening, "result", "error")
    assert outcome["type"] == type_
    if type_ == "error":
        assert outcome["error"] == "peer-vanished"
    else:
        assert outcome["closed_by_silence"] == 1
        assert outcome["elapsed_ns"] == pytest.approx(1e9, rel=0.05)
        assert 0 < outcome["received_bytes"] < outcome["total_bytes"] <= 4000


def test_a_sender_ends_on_time_while_its_peer_reads_nothing(agents: Agents) -> None:
    _, sender = agents
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        sample = sender.start("send", to=f"127.0.0.1:{port}", token=TOKEN, seconds=0.2)
        mute, _ = listener.accept()
        with mute:
            result = sender.next(sample, "result", "error")
    assert result["type"] == "result"
    assert result["total_bytes"] > 0


def test_a_blocked_sender_ends_with_a_result_when_stopped(agents: Agents) -> None:
    _, sender = agents
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        sample = sender.start("send", to=f"127.0.0.1:{port}", token=TOKEN, seconds=300)
        mute, _ = listener.accept()
        with mute:
            time.sleep(0.3)
            sender.ask("stop", test=sample)
            # Far from the end of its window.
            assert sender.next(sample, "result", "error")["type"] == "result"


@pytest.mark.parametrize("ends", ["its deadline", "a stop"])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_receiver_reports_no_traffic_from_a_silent_peer(
    agents: Agents, protocol: str, ends: str
) -> None:
    """After a `stop`, which follows the sender's end, it does not wait for its deadline."""
    receiver, _ = agents
    deadline = 3 if ends == "its deadline" else 3 * PATIENCE_S
    keys = {"bind": "127.0.0.1", "token": TOKEN, "proto": protocol, "deadline": deadline}
    listening = receiver.start("receive", **keys)
    port = receiver.next(listening)["port"]
    token = bytes.fromhex(TOKEN)
    kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
    with socket.socket(socket.AF_INET, kind) as caller:
        caller.connect(("127.0.0.1", port))
        if protocol == "tcp":
            caller.sendall(token + bytes(16))
        else:
            caller.send(struct.pack(">4sBBH16s24x", b"NLPH", 1, 0, 0, token))
        if ends == "a stop":
            receiver.ask("stop", test=listening, sent=5)
        assert receiver.next(listening, "error")["error"] == "no-traffic"


def test_an_asker_over_tcp_without_any_answer_ends_soon_after_its_window(agents: Agents) -> None:
    _, asker = agents
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        to = f"127.0.0.1:{listener.getsockname()[1]}"
        keys = {"kind": "round_trip", "to": to, "token": TOKEN, "deadline": 3 * PATIENCE_S}
        asking = asker.start("ask", seconds=0.5, **keys)
        mute, _ = listener.accept()
        with mute:
            assert asker.next(asking, "error", "result")["error"] == "no-answer"


# ---- what the system refuses (a network namespace whose loopback has an MTU of 1500) ----


LISTENS = "until grep -q :1389 /proc/net/udp; do sleep 0.01; done;"
"""Until port 5001 is open, as the kernel writes it."""


def in_namespace(netprobe: Path, script: str) -> list[str]:
    script = f"ip link set lo up mtu 1500; export NETPROBE_TOKEN={TOKEN}; {script}"
    process = subprocess.run(
        ["unshare", "--net", "bash", "-c", script.replace("@PROBE@", str(netprobe))],
        capture_output=True,
        check=False,
        text=True,
        timeout=PATIENCE_S,
    )
    return process.stdout.splitlines()


@pytest.mark.needs("root", "unshare")
def test_a_sender_reports_the_error_no_buffers_for_a_datagram_over_its_send_buffer(
    netprobe: Path,
) -> None:
    lines = in_namespace(
        netprobe,
        f"@PROBE@ receive proto=udp message=64512 port=5001 deadline=30 >/dev/null & {LISTENS}"
        "@PROBE@ send proto=udp message=64512 to=127.0.0.1:5001 socket_buffer=16384 seconds=1;"
        "kill $!",
    )
    assert '"error":"no-buffers","errno":105' in lines[-1]


@pytest.mark.needs("root", "unshare")
def test_a_sender_without_fragments_reports_a_datagram_over_the_mtu_as_too_long(
    netprobe: Path,
) -> None:
    lines = in_namespace(
        netprobe,
        f"@PROBE@ receive proto=udp message=1473 port=5001 deadline=30 >/dev/null & {LISTENS}"
        "@PROBE@ send proto=udp message=1473 to=127.0.0.1:5001 dont_fragment=1 seconds=1; kill $!",
    )
    assert '"error":"message-too-long","errno":90' in lines[-1]


@pytest.mark.needs("root", "unshare")
def test_a_sender_reports_an_unreachable_network(netprobe: Path) -> None:
    for protocol in ("tcp", "udp"):
        lines = in_namespace(netprobe, f"@PROBE@ send proto={protocol} to=192.0.2.1:5001 seconds=1")
        assert '"error":"unreachable","errno":101' in lines[-1]
