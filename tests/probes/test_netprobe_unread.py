"""An agent whose output nobody reads: no deadline, no lease and no end waits for that."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from netprobe_agents import PATIENCE_S, netprobe
from ports import own_port
from round_trip_peers import TOKEN

__all__ = ["netprobe"]

pytestmark = pytest.mark.lab

PIPE_BYTES = 4096
"""The smallest that Linux makes a pipe: four answers and it is full."""


@contextmanager
def unread(netprobe: Path, *words: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """An agent with a full output, and where that could be read."""
    read, write = os.pipe()
    fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    with subprocess.Popen([netprobe, "agent", *words], stdin=subprocess.PIPE, stdout=write) as own:
        os.close(write)
        try:
            say(own, *["f facts"] * 8)
            time.sleep(0.3)
            yield own, read
        finally:
            own.kill()
            os.close(read)


def say(agent: subprocess.Popen[bytes], *lines: str) -> None:
    assert agent.stdin is not None
    agent.stdin.write("".join(line + "\n" for line in lines).encode())
    agent.stdin.flush()


def listens(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


def test_closed_input_ends_an_agent_whose_output_is_full(netprobe: Path) -> None:
    with unread(netprobe) as (agent, _):
        assert agent.stdin is not None
        agent.stdin.close()
        assert agent.wait(PATIENCE_S) == 0


def test_an_agent_whose_output_is_full_exits_after_its_lease(netprobe: Path) -> None:
    with unread(netprobe, "lease_s=2") as (agent, _):
        assert agent.wait(PATIENCE_S) == 0


def test_a_test_of_an_agent_whose_output_is_full_ends_at_its_deadline(netprobe: Path) -> None:
    port = own_port()
    with unread(netprobe) as (agent, _):
        say(agent, f"t receive bind=127.0.0.1 port={port} token={TOKEN} deadline=4")
        until = time.monotonic() + 12  # the deadline of a test that names none is later
        for is_open in (True, False):
            while listens(port) != is_open:
                assert time.monotonic() < until
                time.sleep(0.01)


def test_a_sender_of_an_agent_whose_output_is_full_ends_when_stopped(netprobe: Path) -> None:
    """Progress that was not read is not kept: what waits is answers and the result."""
    with socket.socket() as sink, unread(netprobe) as (agent, read):
        sink.bind(("127.0.0.1", 0))
        sink.listen()
        sink.settimeout(60)
        to = f"127.0.0.1:{sink.getsockname()[1]}"
        say(agent, f"t send to={to} token={TOKEN} seconds=300 message_rate=100")
        peer, _ = sink.accept()
        with peer:
            peer.settimeout(60)
            assert peer.recv(65536)
            say(agent, "s stop test=t")
            while peer.recv(65536):
                pass
            time.sleep(1)
        assert agent.stdin is not None
        agent.stdin.close()
        with os.fdopen(os.dup(read), "rb") as output:
            lines = list(iter(output.readline, b""))
    kinds = [json.loads(line)["type"] for line in lines]
    assert kinds == ["facts"] * 8 + ["stop", "result"]


def test_an_agent_whose_output_is_full_reads_few_further_requests(netprobe: Path) -> None:
    """What waits is bounded, and so is what it costs: it leaves by its lease."""
    with unread(netprobe, "lease_s=2") as (agent, _):
        assert agent.stdin is not None
        os.set_blocking(agent.stdin.fileno(), False)
        byte_count = 0
        until = time.monotonic() + PATIENCE_S
        while agent.poll() is None and time.monotonic() < until:
            try:
                byte_count += os.write(agent.stdin.fileno(), b"f clock\n" * 100)
            except (BlockingIOError, BrokenPipeError):
                time.sleep(0.05)
        assert agent.poll() == 0
    assert 500 < byte_count < 2_000_000
