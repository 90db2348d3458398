"""A host whose key is unknown or another ends a run with exit 4, before anything runs there."""

from __future__ import annotations

from pathlib import Path

import pytest
import sshd
from fault_runs import Bench, at, bench
from sshd import Site, make_key, needs_sshd, site

__all__ = ["bench", "site"]

pytestmark = needs_sshd


@pytest.mark.parametrize("known", [False, True], ids=["unknown", "changed"])
def test_it_is_refused_with_its_fingerprint_and_nothing_runs(
    bench: Bench, site: Site, known: bool
) -> None:
    server = site.server(trust=known)
    old = sshd.fingerprint(server.key())
    server.stop()
    for half in (server.key(), Path(f"{server.key()}.pub")):
        half.unlink()
    make_key(server.key())
    server.start()
    bench.matrix(client=at(server))
    done = bench.run("run", "matrix.yaml", "--into", "out")
    assert done.returncode == 4
    assert sshd.fingerprint(server.key()) in done.stderr
    if known:
        assert "its key has CHANGED" in done.stderr
        assert old in done.stderr
        assert f"{site.known}:1" in done.stderr
    else:
        assert "unknown host key" in done.stderr
        assert not site.known.exists()
    journal = bench.folder / "out" / "journal.jsonl"
    assert not journal.exists() or '"kind":"attempt"' not in journal.read_text()
    assert "Accepted" not in server.log.read_text()
    assert not (server.home / ".cache").exists()
