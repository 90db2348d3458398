"""The probe on every system that can run here: Linux with two C libraries, another processor under
qemu, Windows under wine. What cannot run here is compiled and linked."""

from __future__ import annotations

import os
import re
import secrets
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from folders import PROBES
from needs import require
from netprobe_agents import PATIENCE_S, Agent, Trial, open_trial, trial
from runners import Runner, make
from test_netprobe_control import BAD_LINES, TOKEN

from netlab.build import cross
from netlab.build.targets import TARGETS, Target

# ---- what is built, with what ----


def system_of(binary: Path) -> str:
    """System and processor that an executable is for, by its own header."""
    head = binary.read_bytes()[:4096]
    processors = {0x3E: "x86_64", 0xB7: "aarch64", 0x8664: "x86_64", 0xAA64: "aarch64"}
    if head[:4] == b"\x7fELF":
        system = "freebsd" if b"/libexec/ld-elf.so.1" in head else "linux"
        return f"{system}-{processors[struct.unpack_from('<H', head, 18)[0]]}"
    if head[:2] == b"MZ":
        at = struct.unpack_from("<I", head, 0x3C)[0]
        assert head[at : at + 4] == b"PE\0\0"
        return f"windows-{processors[struct.unpack_from('<H', head, at + 4)[0]]}"
    assert head[:4] == b"\xcf\xfa\xed\xfe", head[:4]
    processor = {0x01000007: "x86_64", 0x0100000C: "aarch64"}
    return f"macos-{processor[struct.unpack_from('<I', head, 4)[0]]}"


@pytest.mark.needs("zig")
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_probe_and_the_contract_link_for_a_system_without_a_warning(target: Target) -> None:
    require("zig")
    for made in (cross.build_contract(PROBES, target), cross.build(PROBES, target)):
        assert system_of(made.path) == target.name
        assert "warning" not in made.said


def test_make_knows_the_same_targets() -> None:
    assert make("targets").split() == [target.name for target in TARGETS]


# ---- the contract ----

SOURCE = PROBES / "src"


def contract_functions() -> set[str]:
    text = re.sub(
        r"/\*.*?\*/", "", (PROBES / "src/platform/plat.h").read_text(encoding="utf-8"), flags=re.S
    )
    names = set(re.findall(r"^[a-z][\w \*]*?\b(plat_\w+)\(", text, re.MULTILINE))
    assert len(names) > 60
    return names


def test_every_function_of_the_contract_is_called_by_its_tests() -> None:
    tests = "".join(path.read_text() for path in (PROBES / "tests/contract").glob("*.c"))
    assert {name for name in contract_functions() if f"{name}(" not in tests} == set()


@pytest.mark.parametrize("system", ["linux", "windows", "macos", "freebsd"])
def test_every_function_of_the_contract_stands_in_the_files_of_each_system(system: str) -> None:
    names = make("platform", f"TARGET_OS={system}").split()
    assert any(name.endswith(f"/{system}.c") for name in names)
    files = "".join((PROBES / name).read_text() for name in names)
    missing = {
        name for name in contract_functions() if not re.search(rf"^\w.*\b{name}\(", files, re.M)
    }
    assert missing == set()


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.[ch]")), ids=lambda path: path.name)
def test_only_platform_files_know_which_system_they_are_built_for(file: Path) -> None:
    """Seldom a platform file, either: what a system does by itself stands in a file of its own."""
    known = re.findall(
        r"^#\s*(?:el)?if.*\b(?:_WIN32|__linux__|__APPLE__|__FreeBSD__)\b", file.read_text(), re.M
    )
    allowed = {"plat.h": 2, "sockaddr.h": 1, "posix.c": 1}
    assert len(known) == allowed.get(file.name, 0)


@pytest.mark.sampled(most=4)
def test_the_contract_holds(runner: Runner) -> None:
    process = subprocess.Popen(
        runner.contract, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    said: list[str] = []
    with process.stdout:
        for line in process.stdout:
            said.append(line)
            if line == "say something\n":
                process.stdin.write("something\n")
                process.stdin.close()
    assert process.wait(PATIENCE_S) == 0, "".join(said)
    assert re.fullmatch(r"(\d\d+) contract tests, 0 failed\n", said[-1]), "".join(said)


# ---- agents ----

FREE = (
    r"stream|tcp|udp|ipv4|ipv6|tcp-info|congestion|dont-fragment|dscp|interface|pin|queue-drops|"
    r"raw-clock|lock|facts|cpu|no-checksum|stamps|round_trip|connect|poll|batch|packet"
)
SYSTEMS = {"windows": ("windows", "x86_64"), "mingw": ("windows", "x86_64")}


def test_hello_says_what_this_system_can_do(runner: Runner) -> None:
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
        lacking = {"congestion", "dscp", "queue-drops", "raw-clock", "batch", "packet"}
        assert not lacking & set(words)
        assert "tcp-info" not in words  # wine refuses SIO_TCP_INFO, and says so
    else:
        assert hello["clock"] == "CLOCK_MONOTONIC"
        assert {"dscp", "pin", "queue-drops"} <= set(words)


def test_records_end_in_a_line_feed_alone(runner: Runner) -> None:
    with runner.agent() as agent:
        agent.raw(b"a hello\r\nb clock\n\r\n")
        assert agent.next("a")["type"] == "hello"
        assert agent.next("b")["monotonic_ns"] > 0
    assert all(line.endswith(b"}\n") and b"\r" not in line for line in agent.lines)


def test_facts_name_the_machine_and_the_way_to_a_peer(runner: Runner) -> None:
    with runner.agent() as agent:
        facts = agent.ask("facts", to="127.0.0.1")
    assert facts["hostname"] and facts["kernel"]
    assert facts["memory_bytes"] > 2**26
    assert "=127.0.0.1/8" in facts["addresses"]
    if runner.name != "aarch64":  # qemu does not translate netlink's newer questions
        assert facts["route_interface"] == "lo"
        assert facts["interface_mtu_bytes"] >= 1500
    if runner.windows:
        assert facts["distribution"].startswith("Microsoft Windows")
        assert 100_000 <= facts["timer_resolution_ns"] <= 16_000_000


def datagrams() -> int:
    """UDP datagrams that this machine has taken in so far, over IPv4 and IPv6."""
    rows = [row.split() for row in Path("/proc/net/snmp").read_text().splitlines()]
    names, values = (row for row in rows if row[0] == "Udp:")
    found = int(dict(zip(names, values, strict=True))["InDatagrams"])
    if Path("/proc/net/snmp6").exists():
        rows = [row.split() for row in Path("/proc/net/snmp6").read_text().splitlines()]
        found += int(dict(rows)["Udp6InDatagrams"])
    return found


def test_windows_counts_the_datagrams_that_it_took_in(windows: Runner) -> None:
    """Between what the machine that it runs on counts before it is asked, and afterwards."""
    with windows.agent() as receiver, windows.agent() as sender:
        both, told = (receiver, sender), []
        for _ in range(2):
            before, facts, after = datagrams(), receiver.ask("facts"), datagrams()
            told.append(facts["udp_received_datagrams"])
            assert before <= told[-1] <= after
            if len(told) == 1:
                trial(both, proto="udp", message=100, count=300, message_rate=1000)
    assert told[1] - told[0] >= 300


def check(done: Trial, protocol: str) -> None:
    received, sent = done.received, done.sent
    assert received["throughput_bit_per_s"] > 100_000
    figure = 8e9 * received["received_bytes"] / received["elapsed_ns"]
    assert received["throughput_bit_per_s"] == pytest.approx(figure)
    if protocol == "udp":
        assert received["sent_messages"] == sent["sent_messages"]
        assert sent["sent_messages"] == received["total_messages"] + received["lost_messages"]
        assert received["duplicate_messages"] == received["foreign_messages"] == 0


KEYS: dict[str, dict[str, Any]] = {
    "tcp": {"message": 65536},
    "udp": {"message": 1472, "message_rate": 1000},
}


@pytest.mark.sampled(most=8)
@pytest.mark.parametrize("listener", ["receive", "send"])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_system_measures_with_itself(runner: Runner, protocol: str, listener: str) -> None:
    with runner.agent() as receiver, runner.agent() as sender:
        done = trial(
            (receiver, sender), proto=protocol, seconds=0.4, listener=listener, **KEYS[protocol]
        )
    check(done, protocol)


@pytest.mark.sampled(most=4)
@pytest.mark.parametrize("receives", ["linux", "windows"])
@pytest.mark.parametrize("listener", ["receive", "send"])
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_linux_and_windows_measure_with_each_other(
    linux: Runner, windows: Runner, protocol: str, listener: str, receives: str
) -> None:
    sides = (linux, windows) if receives == "linux" else (windows, linux)
    with sides[0].agent() as receiver, sides[1].agent() as sender:
        done = trial(
            (receiver, sender), proto=protocol, seconds=0.4, listener=listener, **KEYS[protocol]
        )
    check(done, protocol)
    tells = "tcp_end_snd_mss"
    on_linux, on_windows = (
        (done.received, done.sent) if receives == "linux" else (done.sent, done.received)
    )
    assert (tells in on_linux) == (protocol == "tcp")
    assert tells not in on_windows
    assert "dscp" not in on_windows
    assert ("host_steal_share" in on_linux, "host_steal_share" in on_windows) == (True, False)
    # Of TCP, Windows tells what its buffer took and not what was acknowledged: no figure.
    if receives == "linux":
        assert ("sent_bit_per_s" in on_windows) == (protocol == "udp")
        assert on_windows["total_bytes"] > 0


@pytest.mark.parametrize("message", [1, 15, 16, 23, 24, 65507])
def test_windows_accounts_for_every_datagram_of_a_count(
    linux: Runner, windows: Runner, message: int
) -> None:
    for receives, sends in ((linux, windows), (windows, linux), (windows, windows)):
        with receives.agent() as receiver, sends.agent() as sender:
            done = trial(
                (receiver, sender), proto="udp", message=message, count=30, message_rate=300
            )
        assert done.sent["sent_messages"] == 30
        assert done.received["total_messages"] + done.received["lost_messages"] == 30
        if message < 65507:  # of which a default receive buffer holds three
            assert done.received["lost_messages"] == 0
        assert done.received["sequence"] == ("none" if message < 16 else "full")


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_windows_carries_several_streams_and_ipv6(windows: Runner, protocol: str) -> None:
    with windows.agent() as receiver, windows.agent() as sender:
        both = (receiver, sender)
        done = trial(both, proto=protocol, streams=3, seconds=0.4, **KEYS[protocol])
        check(done, protocol)
        assert done.received["streams"] == 3
        if not Path("/proc/sys/net/ipv6/conf/lo/disable_ipv6").exists():
            return
        if Path("/proc/sys/net/ipv6/conf/lo/disable_ipv6").read_text().strip() == "0":
            check(
                trial(both, proto=protocol, address="::1", seconds=0.4, **KEYS[protocol]), protocol
            )


def test_a_count_of_bytes_arrives_and_the_connection_ends_in_order(windows: Runner) -> None:
    with windows.agent() as receiver, windows.agent() as sender:
        done = trial((receiver, sender), proto="tcp", message=30_000, count=100)
    assert done.received["total_bytes"] == 3_000_000


def test_windows_says_what_it_cannot_set(windows: Runner) -> None:
    with windows.agent() as agent:
        for key, value in (("dscp", 10), ("congestion", "cubic")):
            asked = agent.ask("receive", bind="127.0.0.1", token=TOKEN, **{key: value})
            assert (asked["error"], asked["key"]) == ("capability-missing", key)
            assert asked["errno"] == 10042
        for method in ("batch", "packet"):
            asked = agent.ask("send", proto="udp", to="127.0.0.1:9", token=TOKEN, method=method)
            assert (asked["error"], asked["key"]) == ("capability-missing", "method")
        asked = agent.ask("receive", bind="192.0.2.1", token=TOKEN)
        assert (asked["error"], asked["errno"]) == ("address-not-available", 10049)


def test_socket_buffers_are_read_back_on_windows(windows: Runner) -> None:
    with windows.agent() as receiver, windows.agent() as sender:
        done = trial(
            (receiver, sender), proto="udp", seconds=0.3, socket_buffer=65536, **KEYS["udp"]
        )
    for side in (done.received, done.sent):
        assert side["send_buffer_requested_bytes"] == 65536
        assert side["receive_buffer_bytes"] >= 65536
        assert "send_buffer_doubled" not in side


def test_bad_requests_have_the_same_words_on_windows(windows: Runner) -> None:
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


# ---- ends ----


def test_the_end_of_input_ends_the_agent_and_what_it_does(runner: Runner) -> None:
    with runner.agent() as receiver, runner.agent() as sender:
        open_trial((receiver, sender), seconds=30)
        time.sleep(0.3)
        for agent in (receiver, sender):
            assert agent.process.stdin is not None
            began = time.monotonic()
            agent.process.stdin.close()
            assert agent.process.wait(PATIENCE_S) == 0
            assert time.monotonic() - began < 3


def test_the_lease_ends_an_agent_that_nobody_speaks_to(runner: Runner) -> None:
    with runner.agent("lease_s=0.6") as agent:
        agent.ask("heartbeat")
        for _ in range(3):
            time.sleep(0.3)
            agent.raw(b"\n")
        assert agent.process.poll() is None
        assert agent.process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_an_abort_ends_a_blocked_test_on_windows_at_once(windows: Runner, protocol: str) -> None:
    with windows.agent() as receiver, windows.agent() as sender:
        keys = KEYS[protocol] | ({} if protocol == "tcp" else {"message_rate": 1})
        opened = open_trial((receiver, sender), proto=protocol, seconds=20, **keys)
        time.sleep(0.3)
        for agent, name in ((receiver, opened.receiving), (sender, opened.sample)):
            began = time.monotonic()
            assert agent.ask("stop", test=name, abort=1)["type"] in ("stop", "error")
            ended = agent.next(name, "error", "result")
            assert ended["error"] in ("stopped", "peer-vanished"), ended
            assert time.monotonic() - began < 2


def test_a_killed_windows_sender_ends_the_test_without_a_figure(
    linux: Runner, windows: Runner
) -> None:
    """Windows closes a dead program's connections at once, wine's server when it looks: then the
    deadline comes first."""
    with linux.agent() as receiver, windows.agent() as sender:
        opened = open_trial((receiver, sender), proto="tcp", seconds=2, deadline=4, **KEYS["tcp"])
        time.sleep(0.5)
        began = time.monotonic()
        sender.process.kill()
        ended = receiver.next(opened.receiving, "error", "result")
        assert ended["error"] in ("peer-vanished", "deadline")
        assert time.monotonic() - began < 5


def test_the_lock_of_a_windows_host_names_its_holder(windows: Runner) -> None:
    with windows.agent() as first:
        assert first.ask("lock", owner="first%20one")["type"] == "lock"
        assert first.ask("lock", owner="first%20one")["type"] == "lock"
        with windows.agent() as second:
            for _ in range(3):
                refused = second.ask("lock", owner="second")
                assert (refused["error"], refused["detail"]) == ("locked", "first one")
            assert first.ask("unlock")["type"] == "unlock"
            assert second.ask("lock", owner="second")["type"] == "lock"
            assert first.ask("lock", owner="first")["detail"] == "second"
        assert first.ask("lock", owner="first")["type"] == "lock"


# ---- coarse sleeps ----

TICK_NS = 15_625_000


def test_a_paced_rate_is_right_where_sleeps_are_as_coarse_as_a_windows_tick(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1000 a second and 40: gaps shorter than a sleep, and longer ones. A machine that is busy
    elsewhere, or whose CPUs are given to others, keeps no schedule: then it is held against a
    sender of fine sleeps, asked in turn with the coarse one."""
    with runner.agent() as fine:
        monkeypatch.setenv("NETPROBE_TEST_SLEEP_NS", str(TICK_NS))
        with runner.agent() as coarse:
            assert TICK_NS * 0.8 < coarse.ask("hello")["worst_sleep_ns"] < TICK_NS * 4
            for keys, rate in (
                ({"rate": 4_000_000, "seconds": 0.4}, 1000),
                ({"message_rate": 40, "count": 25}, 40),
            ):
                looks, rivals = [in_time((fine, coarse), rate, keys)], []
                while max(looks) < IN_TIME and len(looks) < 6:
                    rivals.append(in_time((coarse, fine), rate, keys))
                    looks.append(in_time((fine, coarse), rate, keys))
                least = min(IN_TIME, 0.8 * max(rivals, default=1))
                assert max(looks) >= least, (keys, looks, rivals)


IN_TIME = 0.9
"""Share of the scheduled messages that an undisturbed sender sends less than 4 ms late, where a
sleep takes up to 15 ms too long."""


def in_time(both: tuple[Agent, Agent], rate: int, keys: dict[str, Any]) -> float:
    """The share of its schedule that the second of ``both`` keeps to when it sends to the first;
    none of it where what it knows of its schedule is not what was asked."""
    sent = trial(both, proto="udp", message=500, **keys).sent
    spanned_s = (sent["last_send_ns"] - sent["first_send_ns"]) / 1e9
    scheduled = sent["sent_messages"] + sent["skipped_messages"] + sent["local_drops"]
    assert scheduled == pytest.approx(rate * spanned_s, abs=40 + 0.05 * scheduled)
    if abs(scheduled - rate * spanned_s) > 0.02 * scheduled + 1:
        return 0.0
    return float(sum(sent["late_histogram_ns"][:22]) / scheduled)
