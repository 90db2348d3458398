"""Reasons not to measure that were found before the hosts' settings were changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from netlab.config.matrix_file import load_matrix
from netlab.experiment.matrix import expand
from netlab.runner.session import obstacle_left
from netlab.runner.trial_faults import PATH_MTU, Unmeasured
from netlab.trial.record import Status

MATRIX = """\
pairings: [LL]
variants:
  ecn: {wanted: {both: {sysctl: {net.ipv4.tcp_ecn: 1}}}}
  mtu: {small: {both: {mtu: 1280}}}
tests: [{test: connect, message_size: 64, variant: [as-found, ecn=wanted, mtu=small, ecn=wanted mtu=small]}]
"""  # noqa: E501


@pytest.mark.parametrize("reason", [PATH_MTU, "path-blocked"])
def test_a_path_mtu_found_earlier_stops_no_variant_that_sets_another_mtu(
    tmp_path: Path, reason: str
) -> None:
    (tmp_path / "m.yaml").write_text(MATRIX)
    matrix = load_matrix(tmp_path / "m.yaml")
    obstacle = Unmeasured(Status.IMPOSSIBLE, reason, "")
    left = {
        cell.setup.variant: obstacle_left(obstacle, cell, matrix.variants) is obstacle
        for cell in expand(matrix)
    }
    stays = reason != PATH_MTU
    assert left == {
        None: True,
        "ecn=wanted": True,
        "mtu=small": stays,
        "ecn=wanted mtu=small": stays,
    }
    assert all(obstacle_left(None, cell, matrix.variants) is None for cell in expand(matrix))
