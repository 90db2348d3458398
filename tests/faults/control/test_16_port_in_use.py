"""A taken port is passed over for the next of the range; where none is free, the cell says so.

Without a range the system chooses, and never a port that is taken.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from fault_runs import Bench, bench, by_status, wrong_ok

__all__ = ["bench"]

pytestmark = pytest.mark.alone

FIRST, TAKEN, LAST = 21600, 6, 21620
TESTS = "{test: stream, protocol: [TCP, UDP], message_size: 1000, rate: 20Mbit}"


@contextmanager
def taken() -> Iterator[None]:
    """The first ports of the range have an owner, for either protocol."""
    with ExitStack() as stack:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            for port in range(FIRST, FIRST + TAKEN):
                owner = stack.enter_context(socket.socket(socket.AF_INET, kind))
                owner.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                owner.bind(("127.0.0.1", port))
                if kind == socket.SOCK_STREAM:
                    owner.listen()
        yield


def server(ports: str) -> str:
    return f"{{local: true, port_range: {ports}}}"


def test_the_range_is_measured_with_and_beside_it_without_a_difference(
    bench: Bench, record_property: Callable[[str, object], None]
) -> None:
    bench.matrix(TESTS, server=server(f"{FIRST}-{LAST}"), repeats="3", defaults="{duration: 500ms}")
    assert bench.run("run", "matrix.yaml", "--into", "clean").returncode == 0
    with taken():
        assert bench.run("run", "matrix.yaml", "--into", "faulty").returncode == 0
    clean, faulty = bench.load("clean"), bench.load("faulty")
    assert by_status(faulty) == {"ok": 6}
    assert wrong_ok(clean, faulty) == []
    ports = {record.values["receiver_local_port"] for record in faulty.latest.values()}
    assert ports <= set(range(FIRST + TAKEN, LAST + 1))
    record_property("figure", f"{len(faulty.latest)} of {len(faulty.latest)} trials measured")
    record_property("n", len(faulty.latest))


def test_a_single_port_that_is_taken_is_named_as_the_reason(bench: Bench) -> None:
    bench.matrix(TESTS, server=server(f"{FIRST}-{FIRST}"))
    with taken():
        bench.run("run", "matrix.yaml", "--into", "out")
    run = bench.load("out")
    assert by_status(run) == {"failed": 2}
    for record in run.latest.values():
        assert "address-in-use" in f"{record.reason} {record.detail}"
        assert f"port {FIRST}" in str(record.detail)
