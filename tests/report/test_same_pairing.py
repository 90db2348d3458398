"""A pairing by name, of letters, or one of a star: the same matrix has the same report."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from made_reports import overview_text
from made_streams import stream, stream_run

from netlab.experiment.hosts import MOST_IN_TABLES, named, of_mesh
from netlab.findings.analysis import Analysis
from netlab.report import Report
from netlab.report.language import Wording

NAME = "linux-a+linux-b"


def measured(folder: Path, pairing: str) -> Analysis:
    draw = random.Random(7)  # noqa: S311  (no secret)
    cells = [
        (
            stream(pairing, protocol, size, socket_buffer_bytes=buffer),
            [draw.uniform(40.0, 94.0) for _ in range(3)],
        )
        for protocol, sizes in (("TCP", (64, 1448)), ("UDP", (64, 1472)))
        for size in sizes
        for buffer in (16384, 65536, 262144)
    ]
    return stream_run(folder, *cells)


def shape(run: Analysis) -> dict[str, object]:
    """Everything of a report that does not name the pairing."""
    report = Report(run, Wording())
    tables = [sheet for part in report.parts for sheet in (*part.sheets, *part.details)]
    return {
        "parts": [part.name for part in report.parts],
        "charts": [len(part.charts) for part in report.parts],
        "grids": [(len(grid.rows), grid.columns) for grid in report.layout],
        "figures": [[place.text for line in t.lines for place in line.places] for t in tables],
        "findings": [str(finding.kind) for finding in run.findings],
    }


def test_a_pairing_by_name_has_the_report_of_a_pairing_of_letters(tmp_path: Path) -> None:
    by_letter, by_name = measured(tmp_path / "a", "LL"), measured(tmp_path / "b", NAME)
    assert shape(by_letter) == shape(by_name)
    runs = (by_letter, by_name)
    texts = [overview_text(run, width=200).partition("\nmeasured: ")[0] for run in runs]
    assert (
        texts[0].replace("Linux to Linux", "linux-b to linux-a").replace("LL ", f"{NAME} ")
        == (texts[1])
    )


@pytest.mark.parametrize("seed", range(20))
def test_only_hosts_that_meet_in_a_ring_or_in_many_pairings_are_shown_as_a_mesh(seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311  (no secret)
    hosts = [f"host{number}" for number in range(draw.randint(2, 6))]
    tree = {(host, draw.choice(hosts[:n])) for n, host in enumerate(hosts) if n}
    pairings = {named(*pair) for pair in tree}
    both_ways = pairings | {named(client, server) for server, client in tree}
    for shown in (pairings, both_ways):
        assert bool(of_mesh(shown)) == (len(shown) > MOST_IN_TABLES)
    assert of_mesh({"LL", "WL"} | {"a+a", "b+b"}) == frozenset()
    if len(hosts) > 2:
        ring = {named(*pair) for pair in zip(hosts, [*hosts[1:], hosts[0]], strict=True)}
        assert of_mesh(ring | {"LL"}) == ring
