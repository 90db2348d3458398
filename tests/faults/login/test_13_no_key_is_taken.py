"""A wrong key, or one with a passphrase and no agent, is one attempt, one sentence and exit 4."""

from __future__ import annotations

import pytest
from fault_runs import Bench, at, bench
from made_streams import netlab
from sshd import Site, make_key, needs_sshd, site

__all__ = ["bench", "site"]

pytestmark = needs_sshd


@pytest.mark.parametrize(
    ("passphrase", "sentence", "attempts"),
    [
        ("", "accepted no key; tried: {key}. Put your public key there", 1),
        ("open sesame", "{key} has a passphrase: add it to ssh-agent", 0),
    ],
    ids=["wrong", "locked"],
)
def test_a_rejected_or_locked_key_ends_a_run_after_at_most_one_login_attempt(
    bench: Bench,
    site: Site,
    capfdbinary: pytest.CaptureFixture[bytes],
    passphrase: str,
    sentence: str,
    attempts: int,
) -> None:
    server = site.server()
    key = make_key(site.folder / "other", passphrase=passphrase)
    matrix = str(bench.matrix(client=at(server, identity=str(key))))
    code, _, output = netlab(capfdbinary, "run", matrix, "--into", str(bench.folder / "out"))
    assert code == 4
    assert sentence.format(key=key) in output
    assert server.log.read_text().count("Failed publickey") == attempts
