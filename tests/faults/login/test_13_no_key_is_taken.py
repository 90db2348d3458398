"""A wrong key, or one with a passphrase and no agent, is one attempt, one sentence and exit 4."""

from __future__ import annotations

import pytest
from fault_runs import Bench, at, bench
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
def test_one_attempt_and_a_sentence(
    bench: Bench, site: Site, passphrase: str, sentence: str, attempts: int
) -> None:
    server = site.server()
    key = make_key(site.folder / "other", passphrase=passphrase)
    bench.matrix(client=at(server, identity=str(key)))
    process = bench.run("run", "matrix.yaml", "--into", "out")
    assert process.returncode == 4
    assert sentence.format(key=key) in process.stderr
    assert server.log.read_text().count("Failed publickey") == attempts
