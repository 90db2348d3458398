"""A connection reset towards the controller only: our own old agent's lock is no other run's."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from fault_runs import LEASE_S, Bench, at, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, site

__all__ = ["bench", "outcome_of", "site"]

TRIALS = 6
WORDS = ("run", "matrix.yaml", "--no-report", "--into")
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER of no time: closing sends RST (socket(7))."""


class Relay:
    """Stands between controller and sshd, and may reset the one while the other hears nothing."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.near: list[socket.socket] = []
        self.far: list[socket.socket] = []
        self._closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.near.append(near)  # whatever becomes of it, it is closed at the end
                far = socket.create_connection(("127.0.0.1", self._to))
                self.far.append(far)
                if self._closed:
                    self.close()
                    return
                for ends in ((near, far), (far, near)):
                    threading.Thread(target=self._copy, args=ends, daemon=True).start()

    @staticmethod
    def _copy(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(65536):
                sink.sendall(part)

    def reset(self) -> None:
        """Every connection, towards the controller; the host's side stays open."""
        connections, self.near = self.near, []
        for near in connections:
            near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            near.shutdown(socket.SHUT_RD)
            near.close()

    def close(self) -> None:
        self._closed = True
        for endpoint in (self._listener, *self.near, *self.far):
            endpoint.close()


@pytest.fixture
def relay(site: Site) -> Iterator[Relay]:
    far = site.server()
    sshd_relay = Relay(far.port)
    # The controller logs in to the relay's port; the key is that of the server behind it.
    far.port = sshd_relay.port
    site.trust(far.line())
    yield sshd_relay
    sshd_relay.close()


def reset_the_connection(bench: Bench, site: Site, relay: Relay) -> Seen:
    bench.matrix(
        "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}",
        server=at(site.servers[0]),
        repeats=str(TRIALS),
        defaults="{duration: 400ms}",
    )
    assert bench.run(*WORDS, "clean").returncode == 0
    child = bench.start(*WORDS, "out")
    bench.wait_for('"kind":"record"')
    probes_before = len(bench.probes())
    relay.reset()
    # Its old agent there is ended as soon as the new one is: nobody waits for its lease.
    bench.wait_for('"when":"again"', timeout_s=LEASE_S)
    probes_after = len(bench.probes())
    _, output = child.communicate(timeout=60)
    probes = {"probes_before": probes_before, "probes_after": probes_after}
    return {"code": child.returncode, "stderr": output, **probes}


@injects("sshd")
def test_after_a_connection_reset_a_run_takes_over_the_lock_of_its_own_old_agent(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(reset_the_connection)
    assert outcome["probes_after"] <= outcome["probes_before"]
    assert outcome["code"] == 0, outcome["stderr"]
    faulty = outcome.load()
    assert by_status(faulty) == {"ok": TRIALS}
    assert {record.reason for record in faulty.records} <= {None, "host-gone"}
    assert [entry["when"] for entry in faulty.facts].count("again") == 1
    assert wrong_ok(outcome.load("clean"), faulty) == []
    outcome.figure(f"0 of {TRIALS} trials lost")
