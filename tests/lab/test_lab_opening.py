"""`open`: which side connects, in a lab whose server lets nothing in that it has not asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import needs_a_lab, standing, typed
from paths import needs_nft

from netlab import lab
from netlab.findings.analysis import Analysis, load
from netlab.lab import programs
from netlab.trial.record import Record

pytestmark = [*needs_a_lab, needs_nft, pytest.mark.beside]

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
defaults: {duration: 300ms, protocol: [TCP, UDP], message_size: 1000, message_rate: 2000/s}
tests:
- {test: stream, direction: [DIRECTIONS], OPENING}
- {test: round_trip, OPENING}
"""
EACH = "client-sends, server-sends, both"


@pytest.fixture(scope="module")
def walled() -> Iterator[lab.LabState]:
    """A lab whose server, linux-a, lets nothing in over the cable that it has not asked for."""
    with standing("o", rate=20e6, mtu=1279) as of:
        assert of.hosts_file is not None
        rules = of.hosts_file.parent / "rules.nft"
        rules.write_text(RULES)
        programs.run("ip", "netns", "exec", of.hosts[0].namespace, "nft", "-f", str(rules))
        yield of


def measured(
    of: lab.LabState, folder: Path, opening: str = "", directions: str = "both", code: int = 0
) -> tuple[Analysis, str]:
    matrix = MATRIX.replace("DIRECTIONS", directions)
    matrix = matrix.replace("OPENING", f"open: {opening}") if opening else matrix
    (folder / "matrix.yaml").write_text(matrix.replace(", OPENING", ""))
    into = ("--into", "run", "--no-report", "--patience", "0")
    process = typed(folder, "run", "matrix.yaml", "--hosts", str(of.hosts_file), *into)
    assert process.returncode == code, process.stderr
    return load(folder / "run"), process.stderr


def sides(record: Record) -> set[object]:
    """Which sides connected in a trial."""
    return {value for name, value in record.values.items() if name.endswith("connected_by")}


def test_a_server_behind_a_firewall_connects_to_the_client_in_every_direction(
    walled: lab.LabState, tmp_path: Path
) -> None:
    run, output = measured(walled, tmp_path, directions=EACH)
    assert list(run.frame["status"]) == ["ok"] * 8
    for record in run.stored.latest.values():
        assert sides(record) == {"server"}
        assert record.settings.get("opening") is None
    for protocol in ("TCP", "UDP"):
        assert (
            f"warning: {protocol} linux-b→linux-a is blocked, and linux-a→linux-b passes: "
            "the server linux-a connects to the client" in output
        )


@pytest.mark.night
def test_the_setting_server_connects_lets_a_server_behind_a_firewall_connect(
    walled: lab.LabState, tmp_path: Path
) -> None:
    run, _ = measured(walled, tmp_path, "server-connects")
    assert list(run.frame["status"]) == ["ok"] * 4
    for record in run.stored.latest.values():
        assert sides(record) == {"server"}
        assert record.settings["opening"] == "server-connects"


def test_a_client_that_must_connect_through_a_firewall_fails_as_path_blocked(
    walled: lab.LabState, tmp_path: Path
) -> None:
    run, _ = measured(walled, tmp_path, "client-connects", code=3)
    assert set(run.frame["status"]) == {"failed"}
    assert set(run.frame["reason"]) == {"path-blocked"}
    assert all("`open: client-connects` is set" in detail for detail in run.frame["detail"])


def test_without_a_firewall_the_side_that_the_matrix_names_connects(tmp_path: Path) -> None:
    with standing("p", rate=20e6, mtu=1279) as of:
        run, output = measured(of, tmp_path, "[client-connects, server-connects]")
    assert list(run.frame["status"]) == ["ok"] * 8
    assert "is blocked" not in output
    for record in run.stored.latest.values():
        assert sides(record) == {str(record.settings["opening"]).removesuffix("-connects")}
