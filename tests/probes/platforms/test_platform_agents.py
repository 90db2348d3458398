"""Agents on every system that can run here: what they say of it, measure, carry and refuse."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

import pytest
from netprobe_agents import trial
from netprobe_bad_lines import BAD_LINES
from platform_trials import KEYS, check
from round_trip_peers import TOKEN
from runners import Runner

pytestmark = pytest.mark.lab

FREE = (
    r"stream|tcp|udp|ipv4|ipv6|tcp-info|congestion|dont-fragment|dscp|interface|pin|queue-drops|"
    r"raw-clock|lock|facts|cpu|no-checksum|stamps|round_trip|connect|run|poll|batch|packet|xdp|capture|undo"
)


SYSTEMS = {"windows": ("windows", "x86_64"), "mingw": ("windows", "x86_64")}


def test_the_hello_record_lists_what_the_probe_can_do_on_its_system(runner: Runner) -> None:
    with runner.agent() as agent:
        hello = agent.ask("hello")
    system, processor = SYSTEMS.get(runner.name, ("linux", None))
    assert hello["os"] == system
    assert processor is None or hello["architecture"] == processor
    if runner.name == "aarch64":
        assert hello["architecture"] == "aarch64"
    assert hello["cpu_count"] >= 1
    assert 0 < hello["clock_step_ns"] < 1_000_000
    words = hello["capabilities"].split(",")
    assert all(re.fullmatch(FREE, word) for word in words)
    if runner.windows:
        assert hello["clock"] == "QueryPerformanceCounter"
        assert hello["os_release"].startswith("10.0.")
        lacking = {
            "congestion",
            "dscp",
            "queue-drops",
            "raw-clock",
            "batch",
            "packet",
            "xdp",
            "capture",
        }
        assert not lacking & set(words)
        assert "tcp-info" not in words  # wine refuses SIO_TCP_INFO, and says so
    else:
        assert hello["clock"] == "CLOCK_MONOTONIC"
        assert {"dscp", "pin"} <= set(words)
        # qemu lacks the socket option that counts drops, so the probe does not offer it there.
        assert ("queue-drops" in words) == (runner.name != "aarch64")


def test_records_of_an_agent_end_with_a_line_feed_and_no_carriage_return(runner: Runner) -> None:
    with runner.agent() as agent:
        agent.raw(b"a hello\r\nb clock\n\r\n")
        assert agent.next("a")["type"] == "hello"
        assert agent.next("b")["monotonic_ns"] > 0
    assert all(line.endswith(b"}\n") and b"\r" not in line for line in agent.lines)


def test_facts_name_the_host_and_its_route_to_a_peer(runner: Runner) -> None:
    with runner.agent() as agent:
        facts = agent.ask("facts", to="127.0.0.1")
    assert facts["hostname"] and facts["kernel"]
    assert facts["memory_bytes"] > 2**26
    assert "=127.0.0.1/8" in facts["addresses"]
    if runner.name != "aarch64":  # qemu does not translate netlink's newer questions
        assert facts["route_interface"] == "lo"
        assert facts["interface_mtu_bytes"] >= 1500
    if runner.windows:
        # The fact has the name wine, and the version of Windows that wine reports.
        assert re.match(r"wine \d+\.\d.*, as Microsoft Windows", facts["distribution"])
        assert 100_000 <= facts["timer_resolution_ns"] <= 16_000_000


def datagrams() -> int:
    """UDP datagrams that this machine has taken in so far, over IPv4 and IPv6."""
    rows = [row.split() for row in Path("/proc/net/snmp").read_text().splitlines()]
    names, values = (row for row in rows if row[0] == "Udp:")
    count = int(dict(zip(names, values, strict=True))["InDatagrams"])
    if Path("/proc/net/snmp6").exists():
        rows = [row.split() for row in Path("/proc/net/snmp6").read_text().splitlines()]
        count += int(dict(rows)["Udp6InDatagrams"])
    return count


def test_facts_of_windows_count_received_datagrams(windows: Runner) -> None:
    """Between what the machine that it runs on counts before it is asked, and afterwards."""
    with windows.agent() as receiver, windows.agent() as sender:
        agents, counts = (receiver, sender), []
        for _ in range(2):
            count_before, facts, count_after = datagrams(), receiver.ask("facts"), datagrams()
            counts.append(facts["udp_received_datagrams"])
            assert count_before <= counts[-1] <= count_after
            if len(counts) == 1:
                trial(agents, proto="udp", message=100, count=300, message_rate=1000)
    assert counts[1] - counts[0] >= 300


Ways = tuple[tuple[str, str], ...]
"""Protocols of streams, and which end of each listens."""
WAYS = [
    pytest.param((("tcp", "receive"), ("udp", "send")), id="one-of-each"),
    pytest.param((("tcp", "send"), ("udp", "receive")), id="others", marks=pytest.mark.night),
]


@pytest.mark.parametrize("ways", WAYS)
def test_two_agents_of_one_system_measure_a_stream(every_runner: Runner, ways: Ways) -> None:
    with every_runner.agent() as receiver, every_runner.agent() as sender:
        for protocol, listener in ways:
            outcome = trial(
                (receiver, sender), proto=protocol, seconds=0.4, listener=listener, **KEYS[protocol]
            )
            check(outcome, protocol)


@pytest.mark.parametrize("ways", WAYS)
@pytest.mark.parametrize("receives", ["linux", "windows"])
def test_a_linux_agent_and_a_windows_agent_measure_a_stream(
    linux: Runner, windows: Runner, ways: Ways, receives: str
) -> None:
    sides = (linux, windows) if receives == "linux" else (windows, linux)
    with sides[0].agent() as receiver, sides[1].agent() as sender:
        for protocol, listener in ways:
            outcome = trial(
                (receiver, sender), proto=protocol, seconds=0.4, listener=listener, **KEYS[protocol]
            )
            check(outcome, protocol)
            ends = (outcome.received, outcome.sent)
            on_linux, on_windows = ends if receives == "linux" else ends[::-1]
            assert ("tcp_end_snd_mss" in on_linux) == (protocol == "tcp")
            assert "tcp_end_snd_mss" not in on_windows
            assert "dscp" not in on_windows
            assert "host_steal_share" in on_linux
            assert "host_steal_share" not in on_windows
            # Of TCP, Windows tells what its buffer took and not what was acknowledged: no figure.
            if receives == "linux":
                assert ("sent_bit_per_s" in on_windows) == (protocol == "udp")
                assert on_windows["total_bytes"] > 0


def test_a_windows_agent_counts_each_datagram_as_received_or_lost(
    linux: Runner, windows: Runner
) -> None:
    for receives, sends in ((linux, windows), (windows, linux), (windows, windows)):
        with receives.agent() as receiver, sends.agent() as sender:
            for message in (1, 15, 16, 23, 24, 65507):
                outcome = trial(
                    (receiver, sender), proto="udp", message=message, count=30, message_rate=300
                )
                assert outcome.sent["sent_messages"] == 30
                received = outcome.received
                assert received["total_messages"] + received["lost_messages"] == 30
                if message < 65507:  # of which a default receive buffer holds three
                    assert received["lost_messages"] == 0
                assert received["sequence"] == ("none" if message < 16 else "full")


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_windows_agents_measure_parallel_streams_and_ipv6(windows: Runner, protocol: str) -> None:
    with windows.agent() as receiver, windows.agent() as sender:
        agents = (receiver, sender)
        outcome = trial(agents, proto=protocol, streams=3, seconds=0.4, **KEYS[protocol])
        check(outcome, protocol)
        assert outcome.received["streams"] == 3
        if not Path("/proc/sys/net/ipv6/conf/lo/disable_ipv6").exists():
            return
        if Path("/proc/sys/net/ipv6/conf/lo/disable_ipv6").read_text().strip() == "0":
            check(
                trial(agents, proto=protocol, address="::1", seconds=0.4, **KEYS[protocol]),
                protocol,
            )


def test_a_windows_agent_receives_every_byte_of_a_tcp_stream(windows: Runner) -> None:
    with windows.agent() as receiver, windows.agent() as sender:
        outcome = trial((receiver, sender), proto="tcp", message=30_000, count=100)
    assert outcome.received["total_bytes"] == 3_000_000


def test_a_windows_agent_refuses_options_that_windows_lacks(windows: Runner) -> None:
    with windows.agent() as agent:
        for key, value in (("dscp", 10), ("congestion", "cubic")):
            refusal = agent.ask("receive", bind="127.0.0.1", token=TOKEN, **{key: value})
            assert (refusal["error"], refusal["key"]) == ("capability-missing", key)
            assert refusal["errno"] == 10042
        for method in ("batch", "packet", "xdp"):
            refusal = agent.ask("send", proto="udp", to="127.0.0.1:9", token=TOKEN, method=method)
            assert (refusal["error"], refusal["key"]) == ("capability-missing", "method")
            assert "errno" not in refusal
        refusal = agent.ask("receive", bind="192.0.2.1", token=TOKEN)
        assert (refusal["error"], refusal["errno"]) == ("address-not-available", 10049)


def test_records_of_windows_agents_have_the_effective_socket_buffers(windows: Runner) -> None:
    with windows.agent() as receiver, windows.agent() as sender:
        outcome = trial(
            (receiver, sender), proto="udp", seconds=0.3, socket_buffer=65536, **KEYS["udp"]
        )
    for side in (outcome.received, outcome.sent):
        assert side["send_buffer_requested_bytes"] == 65536
        assert side["receive_buffer_bytes"] >= 65536
        assert "send_buffer_doubled" not in side


def test_a_windows_agent_answers_each_bad_request_with_its_error_word(windows: Runner) -> None:
    with windows.agent() as agent:
        for line, word, key in BAD_LINES:
            name = f"b{secrets.token_hex(4)}"
            has_id = line.startswith("x ")
            agent.raw((name + line[1:] if has_id else line).encode() + b"\n")
            reply = agent.next(name if has_id else line if line == "x" else "-", "error")
            if line.startswith("x send proto=udp to="):
                assert reply["error"] == "connect-timeout"
            elif word is not None:
                assert (reply["error"], reply.get("key")) == (word, key), line
        assert agent.ask("heartbeat")["type"] == "heartbeat"
        agent.raw(b"x hello " + b"a" * 20000 + b"\n")
        agent.raw(os.urandom(20_000).replace(b"\n", b"") + b"\n")
        assert agent.next("-")["error"] in ("line-too-long", "bad-request")
        assert agent.ask("heartbeat")["type"] == "heartbeat"
