"""The scripts and matrices of the how-to guides do what their text says."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from folders import DOCS, REPORTS

from netlab.config.matrix_file import load_matrix
from netlab.experiment.matrix import expand

RUN = REPORTS / "nettest-lab"


def block(page: str, language: str) -> str:
    """The first block of code in a language on a page."""
    text = (DOCS / page).read_text("utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(blocks[0])


def test_the_metrics_of_a_run_are_one_line_for_each_mean_and_grouped_by_their_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = block("how-to/alarms.md", "python")
    assert "/var/lib/node_exporter" in script
    monkeypatch.setattr(sys, "argv", ["metrics.py", str(RUN)])
    exec(script.replace("/var/lib/node_exporter", str(tmp_path)))  # noqa: S102
    assert [path.name for path in tmp_path.iterdir()] == ["netlab.prom"]
    lines = (tmp_path / "netlab.prom").read_text().splitlines()
    form = re.compile(r'netlab_([a-z_]+)\{cell="([A-Za-z0-9-]+)"\} (\S+)')
    found = [match for line in lines if (match := form.fullmatch(line))]
    assert len(found) == len(lines) > 2
    assert all(math.isfinite(float(match[3])) for match in found)
    names = [match[1] for match in found]
    assert names == sorted(names)
    assert "throughput_bit_per_s" in names


def test_the_plot_of_the_guide_has_a_point_with_its_interval_for_each_message_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import matplotlib as mpl
    from matplotlib import pyplot

    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    pyplot.close("all")
    exec(block("run-folder.md", "python").replace('"run1"', repr(str(RUN))))  # noqa: S102
    (bars,) = pyplot.gca().containers
    (points, _, (lines,)) = bars
    rates, ends = points.get_ydata(), [line[:, 1] for line in lines.get_segments()]
    assert len(rates) == len(ends) == 2
    assert all(low < rate < high < 100 for (low, high), rate in zip(ends, rates, strict=True))
    pyplot.close("all")
    assert (tmp_path / "plot.png").stat().st_size > 0


def test_the_matrix_for_a_fast_link_has_a_cell_for_each_number_of_streams(tmp_path: Path) -> None:
    (tmp_path / "fast.yaml").write_text(block("how-to/fast-links.md", "yaml"))
    cells = expand(load_matrix(tmp_path / "fast.yaml"))
    assert [cell.settings["streams"] for cell in cells] == [1, 4, 8]
    assert {cell.settings["server_cpus"] for cell in cells} == {"8,9,10,11,12,13,14,15"}


def test_the_overhead_of_a_documented_tunnel_is_the_sum_of_its_parts() -> None:
    table = (DOCS / "explanation" / "wire.md").read_text("utf-8").partition("## Tunnels")[2]
    rows = re.findall(r"^\| (.+?) \| (\d+) \| (\d+) \| (IP.*?)(?: \(.*)? \|$", table, re.MULTILINE)
    assert len(rows) == 4
    for name, over_ipv4, over_ipv6, parts in rows:
        own = sum(map(int, re.findall(r"\b(\d+)\b", parts)))
        assert (int(over_ipv4), int(over_ipv6)) == (20 + own, 40 + own), name


@pytest.mark.lab
@pytest.mark.parametrize(("run", "check"), [(0, 0), (3, 0), (0, 5), (0, 3)])
def test_the_nightly_script_prints_something_only_if_the_run_or_the_check_fails(
    tmp_path: Path, run: int, check: int
) -> None:
    netlab = tmp_path / "netlab"
    netlab.write_text(f"#!/bin/sh\necho said by $1\ntest $1 = run && exit {run}\nexit {check}\n")
    (tmp_path / "nightly.sh").write_text(block("how-to/alarms.md", "sh"))
    for script in (netlab, tmp_path / "nightly.sh"):
        script.chmod(0o755)
    process = subprocess.run(
        [tmp_path / "nightly.sh"],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert (process.stdout == "") == (run == check == 0)
    # What a run measured is judged even if some of its cells failed.
    assert ("said by check" in process.stdout) == (run != 0 or check != 0)
    assert process.stderr == ""
