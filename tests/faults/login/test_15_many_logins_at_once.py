"""16 names of one host whose server drops most logins at a time all get in, and in its restart."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from sshd import Site, host_at, needs_sshd, site

from netlab.remote import login
from netlab.remote.agent import connect

__all__ = ["site"]

pytestmark = needs_sshd

NAMES = 16


def test_all_of_16_logins_at_once_succeed_although_the_server_drops_some(
    site: Site, record_property: Callable[[str, object], None]
) -> None:
    server = site.server("MaxStartups 2:100:2")
    hosts = [host_at(server, name=f"far{number}") for number in range(NAMES)]
    began = time.monotonic()
    with ThreadPoolExecutor(NAMES) as executor:
        transports = list(executor.map(connect, hosts))
    took_s = time.monotonic() - began
    for transport in transports:
        transport.close()
    assert len(transports) == NAMES
    drop_count = server.log.read_text().count("past MaxStartups")
    record_property("figure", f"16 of 16 in {took_s:.1f} s, {drop_count} logins dropped before")
    record_property("n", NAMES)


def test_a_login_waits_for_a_server_that_restarts(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pauses between its tries are longer than a run's: a busy machine takes long to start."""
    monkeypatch.setattr(login, "STAGGER_S", 3.0)
    server = site.server()
    server.stop()
    restart = threading.Timer(0.02, server.start)
    restart.start()
    try:
        connect(host_at(server)).close()
    finally:
        restart.join()
