"""A taken port is passed over for the next of the range; where none is free, the cell says so.

Without a range the system chooses, and never a port that is taken.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from fault_runs import Bench, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of

__all__ = ["bench", "outcome_of"]

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


def take_ports_of_a_range(bench: Bench) -> Seen:
    bench.matrix(TESTS, server=server(f"{FIRST}-{LAST}"), repeats="3", defaults="{duration: 500ms}")
    words = ("run", "matrix.yaml", "--no-report", "--into")
    codes = [bench.run(*words, "clean").returncode]
    with taken():
        codes.append(bench.run(*words, "out").returncode)
    return {"codes": codes}


@injects()
def test_a_run_passes_over_taken_ports_of_a_range_and_measures_the_figures_of_a_clean_run(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(take_ports_of_a_range)
    assert outcome["codes"] == [0, 0]
    faulty = outcome.load()
    assert by_status(faulty) == {"ok": 6}
    assert wrong_ok(outcome.load("clean"), faulty) == []
    ports = {record.values["receiver_local_port"] for record in faulty.latest.values()}
    assert ports <= set(range(FIRST + TAKEN, LAST + 1))
    n = len(faulty.latest)
    outcome.figure(f"{n} of {n} trials measured", n=n)


def take_the_only_port(bench: Bench) -> Seen:
    bench.matrix(TESTS, server=server(f"{FIRST}-{FIRST}"))
    with taken():
        bench.run("run", "matrix.yaml", "--no-report", "--into", "out")
    return {}


@injects()
def test_a_cell_whose_only_port_is_taken_fails_for_that_reason(outcome_of: OutcomeOf) -> None:
    run = outcome_of(take_the_only_port).load()
    assert by_status(run) == {"failed": 2}
    for record in run.latest.values():
        assert "address-in-use" in f"{record.reason} {record.detail}"
        assert f"port {FIRST}" in str(record.detail)
