"""A login that prints when it ends does not hide which system the host runs, nor its user."""

from __future__ import annotations

import pytest
from fault_runs import Bench, at, bench, by_status
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, site

__all__ = ["bench", "outcome_of", "site"]


TEXTS = {"a word": "echo bye", "a system": "printf 'see you\\n\\nat GNU/Linux\\n'"}


def print_at_exit(bench: Bench, site: Site, text: str) -> Seen:
    server = site.server()
    server.says(at_last=TEXTS[text])
    bench.matrix(client=at(server))
    process = bench.run("run", "matrix.yaml", "--no-report", "--into", "out")
    return {"code": process.returncode, "stderr": process.stderr}


@pytest.mark.parametrize("text", TEXTS)
@injects("sshd")
def test_a_run_measures_over_a_login_that_prints_when_the_login_ends(
    outcome_of: OutcomeOf, text: str
) -> None:
    outcome = outcome_of(print_at_exit, text=text)
    assert outcome["code"] == 0, outcome["stderr"]
    assert by_status(outcome.load()) == {"ok": 2}
