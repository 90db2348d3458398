"""A host that is restarted in mid-run, and has another boot id then, loses no cell."""

from __future__ import annotations

import os
import signal
import threading
import uuid
from contextlib import suppress

import pytest
import sshd
from fault_runs import Bench, at, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, Sshd, site

from netlab.findings.finding import Kind

__all__ = ["bench", "outcome_of", "site"]

WORDS = ("run", "matrix.yaml", "--no-report", "--into")
DOWN_S = 3.0
TRIALS = 4

LOGIN = """\
#!/bin/sh
HOME='{home}'; export HOME; cd "$HOME"
exec unshare -m sh -c 'mount --bind {boot_id} /proc/sys/kernel/random/boot_id; exec "$@"' sh \
    $SSH_ORIGINAL_COMMAND
"""


def boot(far: Sshd) -> str:
    """Give the host another boot id; returns it."""
    file = far.folder / "boot_id"
    boot_id = str(uuid.uuid4())
    file.write_text(boot_id + "\n")
    (far.folder / "login").write_text(LOGIN.format(home=far.home, boot_id=file))
    return boot_id


def restart_the_host(bench: Bench, site: Site) -> Seen:
    far = site.server()
    first = boot(far)
    bench.matrix(
        "{test: stream, protocol: UDP, message_size: 1448, rate: 8Mbit}",
        server=at(far),
        repeats=str(TRIALS),
        defaults="{duration: 500ms}",
    )
    assert bench.run(*WORDS, "clean").returncode == 0
    child = bench.start(*WORDS, "out")
    bench.wait_for('"kind":"record"')
    # Everything on the host, its sshd and agent, in no order.
    for pid in [
        *far.serving(),
        *(descendant for s in far.sessions() for descendant in sshd.descendants(s)),
    ]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    far.stop()
    second = boot(far)
    back = threading.Timer(DOWN_S, far.start)
    back.start()
    _, output = child.communicate(timeout=90)
    back.join()
    return {"code": child.returncode, "stderr": output, "boot_ids": [first, second]}


@injects("root", "sshd")
@pytest.mark.produces("facts-changed")
def test_a_run_notes_the_restart_of_a_host_and_loses_no_trial(outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(restart_the_host)
    assert outcome["code"] == 0, outcome["stderr"]
    assert "server was restarted" in outcome["stderr"]
    faulty = outcome.load()
    assert by_status(faulty) == {"ok": TRIALS}
    boots = {
        entry["when"]: entry["facts"]["boot_id"]
        for entry in faulty.facts
        if entry["host"] == "server"
    }
    first, second = outcome["boot_ids"]
    assert boots == {"before": first, "again": second, "after": second}
    (changed,) = (each for each in faulty.findings if each.kind is Kind.FACTS_CHANGED)
    assert changed.group.host == "server" and changed.words["boot_id"] == f"{first} → {second}"
    assert wrong_ok(outcome.load("clean"), faulty) == []
    outcome.figure(f"0 of {TRIALS} trials lost, down for {DOWN_S:g} s")
