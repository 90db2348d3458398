"""``echo hello`` before an external SFTP server: the probe goes there by commands, and measures."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest
from draws import chance, drawn
from fault_runs import Bench, at, bench, by_status
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, cached, host_at, needs_sshd, site

from netlab.remote import ssh
from netlab.remote.agent import Agent
from netlab.remote.ssh import SftpBroken, _Sftp

__all__ = ["bench", "outcome_of", "site"]

ECHO = "echo hello"


def print_into_sftp(bench: Bench, site: Site) -> Seen:
    server = site.server()
    server.says(at_first=ECHO, to_sftp=ECHO)
    bench.matrix(client=at(server))
    process = bench.run("run", "matrix.yaml", "--no-report", "--into", "out")
    return {"code": process.returncode, "stderr": process.stderr}


@injects("sshd")
def test_a_run_measures_where_an_rc_file_prints_into_sftp_and_names_the_file(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(print_into_sftp)
    assert outcome["code"] == 0
    assert "does an rc file print something?" in outcome["stderr"]
    assert by_status(outcome.load()) == {"ok": 2}


@needs_sshd
@pytest.mark.parametrize("at_last", ["", "echo bye; echo"])
def test_text_that_a_login_prints_around_command_output_does_not_prevent_copying_the_probe(
    site: Site, at_last: str
) -> None:
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


def ask_all(client: _Sftp) -> None:
    for ask in (client.seen, partial(client.read, size_bytes=100), client.whole_path):
        with contextlib.suppress(OSError):
            ask("x")


def test_random_answers_of_an_sftp_server_raise_only_sftpbroken_or_oserror(
    record_property: Callable[[str, object], None],
) -> None:
    seed, n = 40, drawn(few=300, many=3000)
    draw = chance(seed)
    version = packet(2, struct.pack(">I", 3))
    kinds = (101, 102, 103, 104, 105)
    for number in range(n):
        answer = draw.randbytes(draw.randrange(60)) if number % 3 == 0 else version
        for request in range(1, 4):
            answer += packet(
                draw.choice(kinds),
                struct.pack(">I", request)
                + struct.pack(">I", draw.choice((0, 1, 2, 1 << 31)))
                + draw.randbytes(draw.randrange(40)),
            )
        with contextlib.suppress(SftpBroken):
            ask_all(_Sftp(answering(answer), "far"))
    record_property("n", n)
    record_property("seed", seed)


def test_a_folder_that_an_sftp_server_lists_without_end_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ssh, "ENTRIES_MOST", 50)
    answer = packet(2, struct.pack(">I", 3)) + packet(102, struct.pack(">II", 1, 1) + b"h")
    name = struct.pack(">I", 1) + b"x" + struct.pack(">I", 0) + struct.pack(">I", 0)
    for request in range(2, 100):
        answer += packet(104, struct.pack(">II", request, 10) + 10 * name)
    with pytest.raises(
        SftpBroken, match=r"^far: its SFTP server lists more than \d+ files of a folder$"
    ):
        _Sftp(answering(answer), "far").older("x", 1)


def test_the_error_text_of_an_sftp_server_is_printed_on_one_line() -> None:
    words = b"no\nlinux-b: fit"
    status = struct.pack(">III", 1, 4, len(words)) + words
    answer = packet(2, struct.pack(">I", 3)) + packet(101, status)
    with pytest.raises(OSError, match=r"^no linux-b: fit$"):
        _Sftp(answering(answer), "far").seen("x")
