"""Rules do not use what an imported record cannot show."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_readings import planned
from made_streams import run_of, stream_values

from netlab.experiment.matrix import LongPath
from netlab.findings.analysis import Analysis
from netlab.findings.finding import Kind


def paced(path: Path, source: str | None) -> Analysis:
    """Twice the offered rate, by the figures alone."""
    cell = planned("stream", "LL", protocol="UDP", message_bytes=1472, rate_bit_per_s=10e6)
    values = stream_values(20.0)
    assert values is not None
    return run_of(path, (cell, [values]), source=source)


def test_an_imported_table_has_no_finding_about_late_messages(tmp_path: Path) -> None:
    own_run, table_run = paced(tmp_path / "a", None), paced(tmp_path / "b", "a table")
    assert Kind.OFF_RATE_MORE in {finding.kind for finding in own_run.findings}
    assert Kind.OFF_RATE_MORE not in {finding.kind for finding in table_run.findings}


@pytest.mark.parametrize("source", [None, "a table"])
def test_an_imported_table_has_no_target_finding(tmp_path: Path, source: str | None) -> None:
    cell = planned("stream", "LL", protocol="TCP", message_bytes=1448)
    values = stream_values(94.0)
    assert values is not None
    target = LongPath(0.05, 1e9)
    run = run_of(tmp_path / "a", (cell, [values]), source=source, target=target)
    kinds = {str(finding.kind) for finding in run.findings}
    assert any(kind.startswith("target/") for kind in kinds) is (source is None)
