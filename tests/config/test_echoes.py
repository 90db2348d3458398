"""Settings that a mirror without a probe cannot apply are refused where they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlab.config.checks import refuse_what_echoes_lack
from netlab.config.inventory import load_inventory
from netlab.config.matrix_file import load_matrix
from netlab.errors import MatrixError

HEAD = """\
title: an echo
hosts:
  board: {os: X, mirror: {address: 127.0.0.1, port: 7}}
  client: {os: L, local: true, addresses: {test: [127.0.0.1]}}
  other: {os: L, local: true, addresses: {test: [127.0.0.1]}}
pairings: [XL, LL]
"""
AXES = {
    "server_receive": "[blocking, spinning]",
    "server_cpu": "1",
    "udp_checksum": "[true, false]",
    "open": "[client-connects, server-connects]",
}


def refused(folder: Path, tests: str, overrides: dict[str, str] | None = None) -> list[str]:
    path = folder / "matrix.yaml"
    path.write_text(HEAD + tests)
    try:
        refuse_what_echoes_lack(load_matrix(path, overrides), load_inventory(path))
    except MatrixError as error:
        return [line.removeprefix(f"{path}:") for line in str(error).splitlines()]
    return []


@pytest.mark.parametrize("name", AXES)
def test_a_setting_that_a_mirror_cannot_apply_is_refused_at_its_line_and_column(
    tmp_path: Path, name: str
) -> None:
    tests = f"""\
tests:
  - test: round_trip
    protocol: UDP
    message_size: 64
    {name}: {AXES[name]}
"""
    (fault,) = refused(tmp_path, tests)
    column = 7 + len(name) + (AXES[name].rfind(",") + 2 if "," in AXES[name] else 0)
    assert fault.startswith(f"11:{column}: ")
    assert f"board is a mirror without a probe, which cannot apply {name}: " in fault
    assert "`exclude` this value for pairing XL" in fault


def test_a_value_that_a_mirror_cannot_apply_is_accepted_if_excluded_for_its_pairing(
    tmp_path: Path,
) -> None:
    tests = """\
tests:
  - test: round_trip
    protocol: UDP
    message_size: 64
    server_receive: [blocking, spinning]
    exclude:
      - {pairing: XL, server_receive: spinning}
"""
    assert refused(tmp_path, tests) == []


def test_a_default_that_a_mirror_cannot_apply_is_refused_at_its_place(tmp_path: Path) -> None:
    tests = """\
defaults: {server_receive: spinning}
tests:
  - {test: round_trip, protocol: TCP, message_size: 64}
  - {test: connect, message_size: 64}
"""
    faults = refused(tmp_path, tests)
    assert faults
    assert all(fault.startswith("7:28: ") for fault in faults)


def test_an_override_that_a_mirror_cannot_apply_is_refused_at_the_line_of_the_test(
    tmp_path: Path,
) -> None:
    tests = "tests:\n  - {test: round_trip, protocol: TCP, message_size: 64}\n"
    (fault,) = refused(tmp_path, tests, {"server_receive": "spinning"})
    assert fault.startswith("8:5: ")


def test_a_plain_round_trip_with_a_mirror_without_a_probe_is_accepted(tmp_path: Path) -> None:
    tests = "tests:\n  - {test: round_trip, protocol: [TCP, UDP], message_size: 64}\n"
    assert refused(tmp_path, tests) == []
