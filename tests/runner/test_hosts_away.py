"""Hosts that are away or refuse the login: the rest is measured, and the run waits for them."""

from __future__ import annotations

from pathlib import Path

import sshd
from fault_runs import Bench, at, bench
from ports import own_port
from sshd import Site, make_key, site

from netlab.findings.analysis import Analysis

__all__ = ["bench", "site"]

pytestmark = sshd.needs_sshd

WORDS = ("run", "matrix.yaml", "--no-report", "--into", "out")
MATRIX = """\
title: three hosts
hosts:
  near: {{local: true, addresses: {{test: 127.0.0.1}}}}
  far: {far}
  bad: {bad}
pairings: [near+far, near+bad]
defaults: {{duration: 500ms}}
tests: [{{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}}]
"""


def written(bench: Bench, far: str, bad: str) -> None:
    (bench.folder / "matrix.yaml").write_text(MATRIX.format(far=far, bad=bad))


def reasons(run: Analysis) -> dict[str, tuple[str, str | None]]:
    return {record.pairing: (str(record.status), record.reason) for record in run.latest.values()}


def stranger(folder: Path) -> Path:
    """A key that no server knows."""
    return make_key(folder / "stranger")


def test_a_host_that_refuses_the_login_stops_only_its_own_pairings(
    bench: Bench, site: Site
) -> None:
    far, bad = site.server(), site.server()
    written(bench, at(far), at(bad, identity=str(stranger(bench.folder))))
    process = bench.run(*WORDS)
    assert process.returncode == 4
    assert "accepted no key" in process.stderr
    run = bench.load()
    assert reasons(run) == {"near+far": ("ok", None), "near+bad": ("pending", "host-refused")}


def test_a_host_with_an_unknown_host_key_stops_only_its_own_pairings(
    bench: Bench, site: Site
) -> None:
    far, bad = site.server(), site.server(trust=False)
    written(bench, at(far), at(bad))
    process = bench.run(*WORDS)
    assert process.returncode == 4
    assert "SHA256:" in process.stderr
    run = bench.load()
    assert reasons(run) == {"near+far": ("ok", None), "near+bad": ("pending", "host-refused")}


def test_strict_ends_the_run_if_one_host_refuses_the_login(bench: Bench, site: Site) -> None:
    far, bad = site.server(), site.server()
    written(bench, at(far), at(bad, identity=str(stranger(bench.folder))))
    process = bench.run(*WORDS, "--strict")
    assert process.returncode == 4
    assert "--strict: bad: " in process.stderr
    assert not (bench.folder / "out").exists()


def test_patience_limits_the_wait_for_a_host_that_never_answers(bench: Bench, site: Site) -> None:
    far = site.server()
    nobody = at(far).replace(f":{far.port}", f":{own_port()}")
    written(bench, at(far), nobody)
    process = bench.run(*WORDS, "--patience", "10")
    assert process.returncode == 4
    assert "the run waits until 10 s after the loss of the host" in process.stderr
    run = bench.load()
    assert reasons(run) == {"near+far": ("ok", None), "near+bad": ("pending", "host-away")}


def test_a_host_that_answers_after_the_start_of_the_run_is_measured(
    bench: Bench, site: Site
) -> None:
    far, late = site.server(), site.server()
    late.stop()
    written(bench, at(far), at(late))
    child = bench.start(*WORDS)
    bench.wait_for('"kind":"record"')
    late.start()
    _, output = child.communicate(timeout=300)
    assert child.returncode == 0, output
    run = bench.load()
    assert reasons(run) == {"near+far": ("ok", None), "near+bad": ("ok", None)}
    host_facts = run.sessions[-1]["hosts"]
    assert set(host_facts) == {"near", "far", "bad"}
    assert host_facts["bad"]["os"] == host_facts["far"]["os"]


def test_a_run_whose_only_remote_host_refuses_the_login_ends_with_the_reason(
    bench: Bench, site: Site
) -> None:
    bad = site.server()
    bench.matrix(server=at(bad, identity=str(stranger(bench.folder))))
    process = bench.run(*WORDS)
    assert process.returncode == 4
    assert "accepted no key" in process.stderr
