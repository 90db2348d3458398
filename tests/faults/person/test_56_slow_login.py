"""Ctrl-C while a login is slow (`sleep` in its rc file) brings the prompt back within 5 s."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import pytest
import sshd
from fault_runs import Bench, at, bench
from sshd import Site, site

__all__ = ["bench", "site"]

pytestmark = [pytest.mark.alone, sshd.needs_sshd]


@pytest.mark.parametrize("command", ["run", "plan", "hosts"])
def test_nobody_waits_for_the_login(
    bench: Bench, site: Site, command: str, record_property: Callable[[str, object], None]
) -> None:
    far = site.server()
    login = far.folder / "login"
    begun = bench.folder / "login-begun"
    slow = f"touch '{begun}'; sleep 30; exec $SSH"
    login.write_text(login.read_text().replace("exec $SSH", slow))
    bench.matrix(server=at(far))
    words = {
        "run": ("run", "matrix.yaml", "--no-report", "--into", "out"),
        "plan": ("plan", "matrix.yaml", "--hosts", "matrix.yaml"),
        "hosts": ("hosts", "matrix.yaml"),
    }
    going = bench.start(*words[command])
    assert sshd.until(begun.exists, 30)
    before = time.monotonic()
    going.send_signal(signal.SIGINT)
    _, said = going.communicate(timeout=60)
    took_s = time.monotonic() - before
    assert going.returncode == 130
    assert took_s < 5
    assert "Traceback" not in said
    record_property("figure", f"netlab {command}: {took_s:.1f} s")
