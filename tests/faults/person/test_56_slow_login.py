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
    marker = bench.folder / "login-begun"
    slow = f"touch '{marker}'; sleep 30; exec $SSH"
    login.write_text(login.read_text().replace("exec $SSH", slow))
    bench.matrix(server=at(far))
    words = {
        "run": ("run", "matrix.yaml", "--no-report", "--into", "out"),
        "plan": ("plan", "matrix.yaml", "--hosts", "matrix.yaml"),
        "hosts": ("hosts", "matrix.yaml"),
    }
    child = bench.start(*words[command])
    assert sshd.until(marker.exists, 30)
    start_s = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, output = child.communicate(timeout=60)
    took_s = time.monotonic() - start_s
    assert child.returncode == 130
    assert took_s < 5
    assert "Traceback" not in output
    record_property("figure", f"netlab {command}: {took_s:.1f} s")
