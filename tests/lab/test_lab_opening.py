"""`open`: which side connects, in a lab whose server lets nothing in that it has not asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import needs_a_lab, typed
from paths import needs_nft

from netlab import lab
from netlab.findings.analysis import Analysis, load
from netlab.lab import programs
from netlab.lab.options import LabOptions

pytestmark = [*needs_a_lab, needs_nft]

RULES = """
add table inet test
add chain inet test in { type filter hook input priority 0; policy accept; }
add rule inet test in iifname test ct state established,related accept
add rule inet test in iifname test meta l4proto { tcp, udp } drop
"""
MATRIX = """
title: a firewall
pairings: [LL]
pairs: {LL: [linux-a, linux-b]}
defaults: {duration: 200ms, protocol: [TCP, UDP], message_size: 1000, message_rate: 2000/s}
tests:
- {test: stream, direction: [client-sends, server-sends, both]%s}
- {test: round_trip%s}
"""


@pytest.fixture(scope="module")
def walled() -> Iterator[lab.LabState]:
    """A lab whose server, linux-a, lets nothing in over the cable that it has not asked for."""
    name = f"o{os.getpid()}"
    try:
        lab_state = lab.up(LabOptions(name=name, rate=20e6, mtu=1279))
        assert lab_state.hosts_file is not None
        rules = lab_state.hosts_file.parent / "rules.nft"
        rules.write_text(RULES)
        programs.run("ip", "netns", "exec", lab_state.hosts[0].namespace, "nft", "-f", str(rules))
        yield lab_state
    finally:
        lab.down(name, forget=True)


def measured(of: lab.LabState, folder: Path, opening: str, code: int = 0) -> tuple[Analysis, str]:
    words = f", open: {opening}" if opening else ""
    (folder / "matrix.yaml").write_text(MATRIX % (words, words))
    into = ("--into", "run", "--no-report", "--patience", "0")
    process = typed(folder, "run", "matrix.yaml", "--hosts", str(of.hosts_file), *into)
    assert process.returncode == code, process.stderr
    return load(folder / "run"), process.stderr


@pytest.mark.parametrize("opening", ["server-connects", ""], ids=["asked", "found"])
def test_a_server_behind_a_firewall_connects_and_is_measured_in_every_direction(
    walled: lab.LabState, tmp_path: Path, opening: str
) -> None:
    run, output = measured(walled, tmp_path, opening)
    assert list(run.frame["status"]) == ["ok"] * 8
    for record in run.stored.records:
        sides = [value for name, value in record.values.items() if name.endswith("connected_by")]
        assert sides == ["server"] * (2 if record.settings.get("direction") == "both" else 1)
        assert record.settings.get("opening") == (opening or None)
    for protocol in ("TCP", "UDP"):
        assert (
            f"warning: {protocol} linux-b→linux-a is blocked, and linux-a→linux-b passes: "
            "the server linux-a connects to the client" in output
        )


def test_a_client_that_is_to_connect_all_the_same_is_told_why_it_cannot(
    walled: lab.LabState, tmp_path: Path
) -> None:
    run, _ = measured(walled, tmp_path, "client-connects", code=3)
    assert set(run.frame["status"]) == {"failed"}
    assert set(run.frame["reason"]) == {"path-blocked"}
    assert all("`open: client-connects` is set" in detail for detail in run.frame["detail"])


def test_without_a_firewall_who_is_to_connect_does(tmp_path: Path) -> None:
    name = f"p{os.getpid()}"
    try:
        lab_state = lab.up(LabOptions(name=name, rate=20e6, mtu=1279))
        run, output = measured(lab_state, tmp_path, "[client-connects, server-connects]")
    finally:
        lab.down(name, forget=True)
    assert list(run.frame["status"]) == ["ok"] * 16
    assert "is blocked" not in output
    for record in run.stored.records:
        sides = {value for name, value in record.values.items() if name.endswith("connected_by")}
        assert sides == {str(record.settings["opening"]).removesuffix("-connects")}
