"""A server that offers old algorithms alone is named, with what it offers and what is wanted."""

from __future__ import annotations

import pytest
from fault_runs import Bench, at, bench
from sshd import Site, needs_sshd, site

__all__ = ["bench", "site"]

pytestmark = needs_sshd


@pytest.mark.parametrize(
    ("option", "subject", "offers"),
    [
        ("HostKeyAlgorithms ssh-rsa", "host key", "ssh-rsa"),
        (
            "KexAlgorithms diffie-hellman-group14-sha1",
            "kex algorithm",
            "diffie-hellman-group14-sha1",
        ),
    ],
)
def test_what_is_not_in_common_is_named(
    bench: Bench, site: Site, option: str, subject: str, offers: str
) -> None:
    server = site.server(option, kinds=("rsa",))
    bench.matrix(client=at(server))
    process = bench.run("run", "matrix.yaml", "--into", "out")
    assert process.returncode == 4
    place = f"127.0.0.1 port {server.port}"
    message = " ".join(process.stderr.split())
    assert f"{place} offers no {subject} that netlab supports: it has {offers}" in message
    assert "; netlab supports" in message
