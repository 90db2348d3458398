"""A report consists of files that depend on nothing but the run."""

from __future__ import annotations

import base64
import hashlib
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest
from made_reports import (
    EMPTY,
    SCRIPTS,
    Page,
    files_of,
    make,
    page_of,
    planned,
    several,
    several_cells,
    write_undrawn,
)

from netlab.findings.analysis import Analysis
from netlab.report import write_report

__all__ = ["make", "several"]


def test_a_report_writes_tables_charts_and_a_page_into_the_run_folder(several: Analysis) -> None:
    files = set(files_of(several))
    assert {"index.html", "tables.md", "tables.csv", "tables.tex"} <= files
    pictures = {name for name in files if name.startswith("charts/")}
    assert {Path(name).suffix for name in pictures} == {".png", ".svg", ".pdf"}
    assert len(pictures) == 3 * (2 + 4)


def test_narrow_charts_are_written_on_request_and_removed_by_the_next_report(
    make: Callable[..., Analysis],
) -> None:
    run = make(several_cells())
    write_undrawn(run)
    wide = files_of(run)
    assert not (run.path / "charts" / "column").exists()
    write_undrawn(run, narrow=True)
    files = files_of(run)
    narrow = {name: data for name, data in files.items() if name.startswith("charts/column/")}
    assert len(narrow) == 3 * (2 + 4)
    assert {name: data for name, data in files.items() if name not in narrow} == wide
    write_undrawn(run)
    assert files_of(run) == wide


@pytest.mark.lab
def test_a_report_of_another_process_with_another_hash_seed_and_clock_has_the_same_bytes(
    make: Callable[..., Analysis],
) -> None:
    run = make(several_cells())
    write_report(run)
    files = files_of(run)
    (run.path / "tables.md").unlink()
    code = (
        "import sys, netlab; from netlab.report import write_report;"
        "write_report(netlab.load(sys.argv[1]))"
    )
    environment = {
        "PYTHONHASHSEED": "7",
        "TZ": "Asia/Tokyo",
        "LC_ALL": "C",
        "SOURCE_DATE_EPOCH": "1",
    }
    command = [sys.executable, "-c", code, str(run.path)]
    subprocess.run(command, check=True, env={"PATH": "/usr/bin:/bin", **environment})
    assert files_of(run) == files


def test_a_report_removes_charts_of_an_earlier_report_and_no_other_file(
    make: Callable[..., Analysis],
) -> None:
    run = make([planned()])
    (run.path / "charts").mkdir()
    (run.path / "charts" / "old.svg").write_text("old")
    (run.path / "charts" / "notes.txt").write_text("mine")
    write_undrawn(run)
    assert not (run.path / "charts" / "old.svg").exists()
    assert (run.path / "charts" / "notes.txt").read_text() == "mine"


def test_the_page_is_one_valid_file_without_references_to_other_servers(several: Analysis) -> None:
    page = page_of(several)
    assert page.all("html") == [{"lang": "en"}]
    assert page.all("script") == [SCRIPTS[0], {**SCRIPTS[0], "id": "charts-data"}, *SCRIPTS[1:]]
    assert not page.all("link")
    identifiers = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert Counter(identifiers).most_common(1)[0][1] == 1
    targets = [str(link["href"]) for link in page.all("a")]
    assert {target[1:] for target in targets if target.startswith("#")} <= {*identifiers}
    files = [target for target in targets if not target.startswith("#")]
    assert files == [
        "journal.jsonl",
        "matrix.yaml",
        "tables.csv",
        "figures.csv",
        "charts/",
        "tables.tex",
    ]
    assert all((several.path / target).exists() for target in files)
    images = page.all("img")
    assert len(images) == 6
    for image in images:
        assert str(image["src"]).startswith("data:image/svg+xml,")
        assert str(image["alt"]).startswith("Line chart: ")
    style = page.text
    assert set(re.findall(r"url\(.", style)) <= {"url(#"}
    assert "@import" not in style


def test_the_content_security_policy_of_the_page_allows_only_its_own_script_and_style(
    make: Callable[..., Analysis],
) -> None:
    text = write_undrawn(make([planned()])).read_text(encoding="utf-8")
    policy = next(
        str(meta["content"])
        for meta in Page(text).all("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert rules["default-src"] == "'none'"
    assert rules["style-src"] == f"'{digest(style)}'"
    assert rules["script-src"] == f"'{digest(script)}'"
    assert " style=" not in text


def digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def test_every_table_heading_of_the_page_has_a_scope_attribute(several: Analysis) -> None:
    page = page_of(several)
    assert len(page.all("th")) > 50
    assert {heading.get("scope") for heading in page.all("th")} == {"col", "colgroup", "row"}
    assert len(page.all("caption")) >= 3


def test_each_figure_of_the_page_shows_the_picture_of_its_own_chart(several: Analysis) -> None:
    page = page_of(several)
    figures = [str(figure["id"]) for figure in page.all("figure")]
    charts = [name.removeprefix("chart-") for name in figures if name.startswith("chart-")]
    assert len(charts) == len({*charts}) == 6
    addresses = [str(image["src"]) for image in page.all("img")]
    assert addresses == [EMPTY.format(name=name) for name in charts]


def test_pictures_have_the_proportions_that_the_page_states(
    make: Callable[..., Analysis],
) -> None:
    run = make([planned(socket_buffer_bytes=size) for size in (1024, 2048)])
    page = Page(write_report(run).read_text(encoding="utf-8"))
    (image,) = page.all("img")
    ET.fromstring(unquote(str(image["src"]).partition(",")[2]))  # noqa: S314
    (path,) = (run.path / "charts").glob("*.png")
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    assert 1100 < width < 1200
    stated = int(image["height"] or 0) / int(image["width"] or 0)
    assert height / width == pytest.approx(stated, rel=0.01)


@pytest.mark.lab
def test_importing_what_a_run_and_its_report_need_loads_no_heavy_library() -> None:
    code = (
        "import sys, netlab.report, netlab.results.arrow.run_parts, netlab.runner.session; "
        "sys.exit(bool({'pandas', 'matplotlib', 'jinja2', 'numpy'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.lab
def test_printing_the_means_of_a_run_loads_no_heavy_library(several: Analysis) -> None:
    code = (
        "import pathlib, sys; from netlab.findings.analysis import load; "
        "from netlab.report import Report; from netlab.report.language import Wording; "
        "assert Report(load(pathlib.Path(sys.argv[1])), Wording()).overview_text(); "
        "sys.exit(bool({'pandas', 'matplotlib', 'jinja2'} & set(sys.modules)))"
    )
    words = [sys.executable, "-c", code, str(several.path)]
    assert subprocess.run(words, check=False).returncode == 0
