"""A host whose key is unknown or another ends a run with exit 4, before anything runs there."""

from __future__ import annotations

from pathlib import Path

import pytest
import sshd
from fault_runs import Bench, at, bench
from sshd import Site, make_key, needs_sshd, site

__all__ = ["bench", "site"]

pytestmark = needs_sshd


@pytest.mark.parametrize("is_known", [False, True], ids=["unknown", "changed"])
def test_it_is_refused_with_its_fingerprint_and_nothing_runs(
    bench: Bench, site: Site, is_known: bool
) -> None:
    server = site.server(trust=is_known)
    old = sshd.fingerprint(server.key())
    server.stop()
    for half in (server.key(), Path(f"{server.key()}.pub")):
        half.unlink()
    make_key(server.key())
    server.start()
    bench.matrix(client=at(server))
    process = bench.run("run", "matrix.yaml", "--into", "out")
    assert process.returncode == 4
    assert sshd.fingerprint(server.key()) in process.stderr
    if is_known:
        assert "its key has CHANGED" in process.stderr
        assert old in process.stderr
        assert f"{site.known}:1" in process.stderr
    else:
        assert "unknown host key" in process.stderr
        assert not site.known.exists()
    journal = bench.folder / "out" / "journal.jsonl"
    assert not journal.exists() or '"kind":"attempt"' not in journal.read_text()
    assert "Accepted" not in server.log.read_text()
    assert not (server.home / ".cache").exists()
