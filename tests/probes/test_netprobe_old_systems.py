"""What the probe does where a system call is refused: by an old kernel, a busy host, a card."""

from __future__ import annotations

import secrets
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest
from faulty_probe import faulty_probe
from netprobe_agents import Agent, agents, netprobe, trial
from round_trip_peers import TOKEN, done

__all__ = ["agents", "faulty_probe", "netprobe"]

pytestmark = [pytest.mark.lab, pytest.mark.needs("cc")]

PTP_FILTER, ALL_FILTER = 12, 1
"""What a clock's daemon wants of a card, and what a measurement does (linux/net_tstamp.h)."""


def test_an_old_kernel_without_socket_counters_yields_no_queue_drops(
    faulty_probe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTY", "meminfo")
    with Agent(faulty_probe) as receiver, Agent(faulty_probe) as sender:
        words = receiver.ask("hello")["capabilities"].split(",")
        receiver_record = trial(
            (receiver, sender), proto="udp", count=30, message_rate=300
        ).received
    assert "queue-drops" not in words
    assert "batch" in words
    assert "queue_drops" not in receiver_record


def test_an_agent_draws_a_token_on_a_kernel_without_getrandom(
    faulty_probe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTY", "getrandom")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as echo:
        echo.bind(("127.0.0.1", 0))
        with Agent(faulty_probe) as agent:  # its own token, which no echo knows, is such bytes
            to = f"127.0.0.1:{echo.getsockname()[1]}"
            asking = agent.start(
                "ask", peer="echo", proto="udp", to=to, count=1, message=64, timeout=10
            )
            echo.settimeout(60)
            request, back = echo.recvfrom(100)
            echo.sendto(request, back)
            assert agent.next(asking, "result", "error")["transactions"] == 1


@pytest.mark.parametrize(("host", "counter"), [("full", "refused"), ("slow", "skipped")])
def test_a_batch_sender_counts_each_message_that_the_kernel_refuses(
    faulty_probe: Path, monkeypatch: pytest.MonkeyPatch, host: str, counter: str
) -> None:
    """A third of the calls takes none of the messages that are due by then."""
    monkeypatch.setenv("FAULTY", host)
    with Agent(faulty_probe) as receiver, Agent(faulty_probe) as sender:
        monkeypatch.setenv("FAULTY", "")
        sender_record = trial(
            (receiver, sender), proto="udp", count=30_000, message=100, message_rate=60_000,
            send={"method": "batch", "burst": 1000},
        ).sent  # fmt: skip
    due = 60_000 * (sender_record["last_send_ns"] - sender_record["first_send_ns"]) / 1e9
    total = (
        sender_record["sent_messages"]
        + sender_record["refused_messages"]
        + sender_record["skipped_messages"]
    )
    assert due * 0.9 <= total <= due * 1.1  # a thread that is kept waiting sends some late
    tried = total if counter == "skipped" else total - sender_record["skipped_messages"]
    assert sender_record[f"{counter}_messages"] > tried * 0.2
    assert sender_record["local_drops"] <= sender_record["refused_messages"]


def test_a_receiver_takes_the_next_port_of_a_range_where_listening_fails(
    faulty_probe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULTY", "listen")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        first = min(free.getsockname()[1], 60000)
    with Agent(faulty_probe) as agent:
        keys = {"bind": "127.0.0.1", "token": TOKEN, "port": f"{first}-{first + 50}"}
        ready = agent.ask("receive", **keys)
        assert ready["type"] == "ready", ready
        assert first < ready["port"] <= first + 50


def test_parallel_connections_use_different_local_ports_of_a_range(
    agents: tuple[Agent, Agent],
) -> None:
    """All of them to one port of the peer: one local port would be one connection."""
    ports = "22000-22063"
    done_ = trial(agents, streams=6, count=60, send={"port": ports})
    assert 22000 <= done_.sent["local_port"] <= 22063
    assert done_.received["total_messages"] == 60
    outcome = done(agents, kind="connect", count=40, message=64, ask={"port": ports})
    assert outcome.asked["transactions"] == 40


def test_facts_count_pause_frames_only_where_the_card_counts_them(
    faulty_probe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("interface_pause_frames_sent", "interface_pause_frames_received")
    with Agent(faulty_probe) as agent:
        facts = agent.ask("facts", to="127.0.0.1", counters=1)
    assert not set(names) & set(facts)
    monkeypatch.setenv("FAULTY", "pause")
    with Agent(faulty_probe) as agent:
        facts = agent.ask("facts", to="127.0.0.1", counters=1)
    assert [facts[name] for name in names] == [3, 5]


@pytest.mark.needs("root")
def test_the_timestamp_filter_of_a_card_is_restored_after_the_last_mirror(
    faulty_probe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two mirrors use the card; the second to end puts it back."""
    log = tmp_path / "log"
    monkeypatch.setenv("FAULTY", "card")
    monkeypatch.setenv("FAULTY_LOG", str(log))
    with ExitStack() as stack:
        mirror, asker = (stack.enter_context(Agent(faulty_probe)) for _ in range(2))
        keys = {"bind": "127.0.0.1", "proto": "udp", "message": 64, "stamps": 1}
        tests = []
        for _ in range(2):
            token = secrets.token_hex(16)
            name = mirror.start("mirror", token=token, **keys)
            port = mirror.next(name)["port"]
            test_id = asker.start(
                "ask", proto="udp", to=f"127.0.0.1:{port}", token=token, message=64, count=3
            )
            assert asker.next(test_id, "result", "error")["transactions"] == 3
            tests.append(name)
        assert log.read_text().split("\n") == [f"lo 1 {ALL_FILTER}", ""]
        for name in tests:
            mirror.ask("stop", test=name)
            assert mirror.next(name, "result", "error")["type"] == "result"
    assert log.read_text().split("\n") == [f"lo 1 {ALL_FILTER}", f"lo 0 {PTP_FILTER}", ""]


def test_facts_describe_receive_side_scaling_only_where_the_card_does(
    faulty_probe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"interface_rss_hash", "interface_rss_table_places", "interface_rss_key"}
    monkeypatch.setenv("FAULTY", "rss")
    with Agent(faulty_probe) as agent:
        facts = agent.ask("facts", to="127.0.0.1")
    key = bytes(range(40)).hex()
    assert [facts[name] for name in sorted(names)] == ["toeplitz", key, 128]
    monkeypatch.setenv("FAULTY", "")
    with Agent(faulty_probe) as agent:
        assert not names & agent.ask("facts", to="127.0.0.1").keys()
