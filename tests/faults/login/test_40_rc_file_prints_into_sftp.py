"""``echo hello`` before an external SFTP server: the probe goes there by commands, and measures."""

from __future__ import annotations

import contextlib
import random
import struct
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from fault_runs import Bench, at, bench, by_status
from sshd import Site, cached, host_at, needs_sshd, site

from netlab.remote import sftp
from netlab.remote.agent import Agent
from netlab.remote.sftp import Sftp, SftpBroken

__all__ = ["bench", "site"]

pytestmark = needs_sshd

ECHO = "echo hello"


def test_a_run_measures(bench: Bench, site: Site) -> None:
    server = site.server()
    server.says(at_first=ECHO, to_sftp=ECHO)
    bench.matrix(client=at(server))
    process = bench.run("run", "matrix.yaml", "--into", "out")
    assert process.returncode == 0
    assert "does an rc file print something?" in process.stderr
    assert by_status(bench.load()) == {"ok": 2}


@pytest.mark.parametrize("at_last", ["", "echo bye; echo"])
def test_what_is_printed_around_answers_of_commands_does_no_harm(site: Site, at_last: str) -> None:
    server = site.server()
    server.says(at_first="echo -rw------- 1 2 3 4 5; echo 77", to_sftp=ECHO, at_last=at_last)
    for _ in range(2):
        Agent.open(host_at(server)).close()
    assert cached(server).stat().st_mode & 0o777 == 0o700


def answering(answer: bytes) -> Any:
    """A channel on which ``answer`` is all that comes."""
    remainder = bytearray(answer)

    def recv(size: int) -> bytes:
        part = bytes(remainder[:size])
        del remainder[:size]
        return part

    nothing = lambda *_: None  # noqa: E731
    return cast(Any, SimpleNamespace(recv=recv, sendall=nothing, settimeout=nothing, close=nothing))


def packet(kind: int, payload: bytes) -> bytes:
    return struct.pack(">IB", len(payload) + 1, kind) + payload


def ask_all(client: Sftp) -> None:
    for ask in (client.seen, partial(client.read, size_bytes=100), client.whole_path):
        with contextlib.suppress(OSError):
            ask("x")


def test_whatever_comes_in_place_of_sftp_is_one_kind_of_error(
    record_property: Callable[[str, object], None],
) -> None:
    seed, n = 40, 3000
    chance = random.Random(seed)  # noqa: S311
    version = packet(2, struct.pack(">I", 3))
    kinds = (101, 102, 103, 104, 105)
    for number in range(n):
        answer = chance.randbytes(chance.randrange(60)) if number % 3 == 0 else version
        for request in range(1, 4):
            answer += packet(
                chance.choice(kinds),
                struct.pack(">I", request)
                + struct.pack(">I", chance.choice((0, 1, 2, 1 << 31)))
                + chance.randbytes(chance.randrange(40)),
            )
        with contextlib.suppress(SftpBroken):
            ask_all(Sftp(answering(answer), "far"))
    record_property("n", n)
    record_property("seed", seed)


def test_a_folder_that_is_listed_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sftp, "ENTRIES_MOST", 50)
    answer = packet(2, struct.pack(">I", 3)) + packet(102, struct.pack(">II", 1, 1) + b"h")
    name = struct.pack(">I", 1) + b"x" + struct.pack(">I", 0) + struct.pack(">I", 0)
    for request in range(2, 100):
        answer += packet(104, struct.pack(">II", request, 10) + 10 * name)
    with pytest.raises(
        SftpBroken, match=r"^far: its SFTP server lists more than \d+ files of a folder$"
    ):
        Sftp(answering(answer), "far").older("x", 1)


def test_the_words_of_a_refusal_stay_on_one_line() -> None:
    words = b"no\nlinux-b: fit"
    status = struct.pack(">III", 1, 4, len(words)) + words
    answer = packet(2, struct.pack(">I", 3)) + packet(101, status)
    with pytest.raises(OSError, match=r"^no linux-b: fit$"):
        Sftp(answering(answer), "far").seen("x")
