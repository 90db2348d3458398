"""A server that offers old algorithms alone is named, with what it offers and what is wanted."""

from __future__ import annotations

import pytest
from fault_runs import Bench, at, bench
from made_streams import netlab
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
    ids=["host key", "key exchange"],
)
def test_without_a_common_algorithm_the_error_names_what_the_server_and_netlab_support(
    bench: Bench,
    site: Site,
    capfdbinary: pytest.CaptureFixture[bytes],
    option: str,
    subject: str,
    offers: str,
) -> None:
    server = site.server(option, kinds=("rsa",))
    matrix = str(bench.matrix(client=at(server)))
    code, _, output = netlab(capfdbinary, "run", matrix, "--into", str(bench.folder / "out"))
    assert code == 4
    place = f"127.0.0.1 port {server.port}"
    message = " ".join(output.split())
    assert f"{place} offers no {subject} that netlab supports: it has {offers}" in message
    assert "; netlab supports" in message
