"""A host whose key is unknown or another ends a run with exit 4, before anything runs there."""

from __future__ import annotations

from pathlib import Path

import pytest
import sshd
from fault_runs import Bench, at, bench
from made_streams import netlab
from sshd import Site, make_key, needs_sshd, site

__all__ = ["bench", "site"]

pytestmark = needs_sshd


@pytest.mark.parametrize("is_known", [False, True], ids=["unknown", "changed"])
def test_a_run_refuses_a_host_whose_key_is_unknown_or_changed_before_anything_runs_there(
    bench: Bench, site: Site, capfdbinary: pytest.CaptureFixture[bytes], is_known: bool
) -> None:
    server = site.server(trust=is_known)
    old = sshd.fingerprint(server.key())
    server.stop()
    for half in (server.key(), Path(f"{server.key()}.pub")):
        half.unlink()
    make_key(server.key())
    server.start()
    matrix, out = str(bench.matrix(client=at(server))), bench.folder / "out"
    code, _, output = netlab(capfdbinary, "run", matrix, "--into", str(out))
    assert code == 4
    assert sshd.fingerprint(server.key()) in output
    if is_known:
        assert "its key has CHANGED" in output
        assert old in output
        assert f"{site.known}:1" in output
    else:
        assert "unknown host key" in output
        assert not site.known.exists()
    journal = out / "journal.jsonl"
    assert not journal.exists() or '"kind":"attempt"' not in journal.read_text()
    assert "Accepted" not in server.log.read_text()
    assert not (server.home / ".cache").exists()
