"""A login that prints when it ends does not hide which system the host runs, nor its user."""

from __future__ import annotations

import pytest
from fault_runs import Bench, at, bench, by_status
from sshd import Site, needs_sshd, site

__all__ = ["bench", "site"]

pytestmark = needs_sshd


@pytest.mark.parametrize("at_last", ["echo bye", "printf 'see you\\n\\nat GNU/Linux\\n'"])
def test_a_run_measures(bench: Bench, site: Site, at_last: str) -> None:
    server = site.server()
    server.says(at_last=at_last)
    bench.matrix(client=at(server))
    assert bench.run("run", "matrix.yaml", "--into", "out").returncode == 0
    assert by_status(bench.load()) == {"ok": 2}
