"""The documentation agrees with the code."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from folders import ROOT

from netlab.errors import HostError, IncompleteRun, LockedError, NetlabError, UsageError
from netlab.findings.catalogue import Kind


@pytest.fixture(scope="module")
def texts() -> dict[Path, str]:
    """Every text of the documentation."""
    paths = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
    return {path: path.read_text("utf-8") for path in paths}


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "scripts" / "code_map.py"))


def test_the_generated_list_of_packages_is_current(made: dict[str, Any]) -> None:
    assert (ROOT / "ARCHITECTURE.md").read_text() == made["architecture"](), "run `make docs`"


def test_the_drawing_of_imports_between_packages_is_current(made: dict[str, Any]) -> None:
    picture = ROOT / "docs" / "pictures" / "storeys.svg"
    assert picture.read_text() == made["drawing"](), "run `make docs`"
    storeys = runpy.run_path(str(ROOT / "docs" / "scripts" / "storeys.py"))
    assert len(storeys["storeys"]()) == 13
    assert storeys["against"](storeys["storeys"](), storeys["imports"]()) == []
    probe = [[name] for name in storeys["PROBE"]]
    assert storeys["against"](probe, storeys["includes"]()) == []


def test_every_file_of_the_source_begins_with_a_sentence_about_its_purpose(
    made: dict[str, Any],
) -> None:
    lines = [line for line in made["files"]().splitlines() if line.startswith("| `")]
    assert [line for line in lines if not re.search(r"[^ :]\. \|$", line)] == []
    assert len(lines) > 200


def test_the_architecture_page_has_at_most_90_lines() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 90


def test_each_list_that_the_site_makes_has_its_place_on_one_page(
    made: dict[str, Any], texts: dict[Path, str]
) -> None:
    marks = [name for text in texts.values() for name in made["MARK"].findall(text)]
    assert sorted(marks) == sorted(made["LISTS"])
    for text in texts.values():
        assert not made["MARK"].search(made["filled"](text))
    with pytest.raises(KeyError, match="of nothing"):
        made["filled"]("<!-- list: columns of nothing -->")


def test_the_list_of_commands_has_the_help_of_each_command(made: dict[str, Any]) -> None:
    help_texts = made["commands"]()
    for name in ("netlab", "netlab run", "netlab import iperf3"):
        assert f"## {name}\n\n```\nUsage: {name} " in help_texts
    assert "--patience" in help_texts


def test_every_link_in_the_documentation_leads_to_a_file(texts: dict[Path, str]) -> None:
    assert len(texts) > 30
    links = [
        (path.name, link)
        for path, text in texts.items()
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
        if not (path.parent / link).exists()
    ]
    assert links == []


def test_every_row_of_a_documented_table_has_as_many_cells_as_its_head(
    texts: dict[Path, str],
) -> None:
    for path, text in texts.items():
        for table in re.findall(r"(?:^\|.*\n)+", text, re.M):
            rows = table.splitlines()
            cells = [len(re.findall(r"(?<!\\)\|", row)) for row in rows]
            wrong = [row for row, count in zip(rows, cells, strict=True) if count != cells[0]]
            assert wrong == [], path.name


def test_the_documented_exit_codes_are_those_of_the_error_classes() -> None:
    rows = dict(re.findall(r"^\| (\d) \| (.*) \|$", (ROOT / "README.md").read_text(), re.M))
    assert set(rows) == {"0", "1", "2", "3", "4", "5", "6"}
    for error, word in (
        (NetlabError, "internal"),
        (UsageError, "usage"),
        (IncompleteRun, "pending"),
        (HostError, "unreachable"),
        (LockedError, "locked"),
    ):
        assert word in rows[str(error.exit_code)]


@pytest.mark.lab
@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (["--help"], ["pandas", "matplotlib", "paramiko", "pydantic", "jinja2", "rich", "yaml"]),
        (
            ["plan", "matrices/lab-report.yaml"],
            ["pandas", "matplotlib", "paramiko", "jinja2", "netlab.remote", "netlab.store"],
        ),
    ],
    ids=["help", "plan"],
)
def test_a_command_loads_nothing_heavy_that_it_does_not_need(
    words: list[str], heavy: list[str]
) -> None:
    script = f"""
import sys
from netlab.cli import cli
try: cli.main({words}, standalone_mode=False)
except SystemExit: pass
loaded = [name for name in {heavy} if name in sys.modules]
sys.exit(', '.join(loaded) or 0)
"""
    process = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr


def test_the_documented_matrix_equals_the_shipped_lab_report_matrix(tmp_path: Path) -> None:
    from netlab.config.matrix_file import load_matrix

    text = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "matrix.md").read_text(), re.S)[0]
    file = tmp_path / "matrix.yaml"
    file.write_text(text)
    shipped = load_matrix(ROOT / "matrices" / "lab-report.yaml")
    assert load_matrix(file).content_hash == shipped.content_hash


def test_the_documented_inventories_can_be_loaded(tmp_path: Path) -> None:
    from netlab.config.inventory import load_inventory

    for name in ("README.md", "docs/hosts.md"):
        blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / name).read_text(), re.S)
        inventories = [block for block in blocks if "hosts:" in block]
        assert inventories
        for text in inventories:
            file = tmp_path / "hosts.yaml"
            file.write_text(text)
            assert len(load_inventory(file).hosts) > 1


def test_every_setting_of_a_matrix_is_documented() -> None:
    from netlab.config.settings import SETTINGS

    text = (ROOT / "docs" / "matrix.md").read_text()
    keys = [setting.name for setting in SETTINGS]
    assert [key for key in keys if f"`{key}`" not in text] == []


def test_the_list_of_faults_has_a_row_for_each_file_of_tests_faults_with_its_figures() -> None:
    script = runpy.run_path(str(ROOT / "docs" / "scripts" / "reliability.py"))
    figures = script["measured"]()
    listed = script["table"](figures)
    files = {path.stem for path in (ROOT / "tests" / "faults").glob("*/test_*.py")}
    assert set(re.findall(r"/(test_\d\d_\w+)\.py` \|$", listed, re.MULTILINE)) == files
    assert set(figures) == files
    for of_folder in script["rows"]().values():
        numbers = [row.number for row in of_folder]
        assert len(numbers) == len({*numbers})


def test_the_figures_of_the_fault_suite_are_those_of_its_last_results(tmp_path: Path) -> None:
    script = runpy.run_path(str(ROOT / "docs" / "scripts" / "reliability.py"))
    name = "tests.faults.link.test_03_cable_down_for_good"
    figure = '<properties><property name="figure" value="2 | 3"/></properties>'
    results = tmp_path / "results.xml"
    results.write_text(
        f'<testsuite><testcase classname="{name}" name="test_a[injected]">{figure}</testcase>'
        f'<testcase classname="{name}" name="test_a[recorded]"><failure message="no"/></testcase>'
        "</testsuite>"
    )
    read = script["results_in"](results)
    assert read == {"test_03_cable_down_for_good": {"figure": ["2 | 3"]}}
    assert "| 2 \\| 3 |" in script["table"](read)


@pytest.fixture(scope="module")
def findings_list() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "scripts" / "findings_list.py"))


def test_every_kind_of_finding_states_a_section_and_a_condition() -> None:
    rules = runpy.run_path(str(ROOT / "docs" / "scripts" / "findings_rules.py"))
    assert [kind for kind in Kind if not all(rules["rule_of"](kind))] == []
    assert [*rules["RULES"]] == [*dict.fromkeys(k if k in rules["RULES"] else k.name for k in Kind)]


def test_a_line_of_the_page_of_findings_is_in_the_section_of_its_kinds_with_figures_of_their_rule(
    texts: dict[Path, str], findings_list: dict[str, Any]
) -> None:
    """Each figure of a line is one of the rule, so that none is out of date."""
    kinds, stated = {str(kind): kind for kind in Kind}, findings_list["RULES"]
    for part in texts[ROOT / "docs" / "findings.md"].split("\n## ")[1:]:
        for names, line in re.findall(r"^\| (`[^|]*`) \| [a-z, ]* \| (.*) \|$", part, re.MULTILINE):
            of_line = [kinds[name] for name in re.findall(r"`([^`]*)`", names)]
            assert {stated["rule_of"](kind)[0] for kind in of_line} == {part.splitlines()[0]}, names
            rules = " ".join(stated["when"](kind) for kind in of_line)
            figures = re.findall(r"\d+(?:[.,]\d+)*(?: (?:%|s|ms|ppm|µs))?", line)
            assert [figure for figure in figures if figure not in rules] == [], names


def test_the_list_of_findings_has_each_rule_once_and_what_produced_each_kind(
    findings_list: dict[str, Any],
) -> None:
    listed = findings_list["listed"]()
    assert {*re.findall(r"^\| `([^`]*)` \| (?:note|warning) \|", listed, re.MULTILINE)} == {
        str(kind) for kind in Kind
    }
    kinds = findings_list["sections"]()["About a run"]
    parts = findings_list["parts"](
        kinds,
        {"deviation/cell": {"said": 58, "right": 57, "planted": 60, "found": 57}},
        {
            "deviation/cell": {
                "recorded": {"one": 3, "two": 1},
                "planted": {"a": [1, 3], "b": [2, 3]},
                "tested": ["x"],
            },
            "deviation/step": {"imported": {"three": 2}},
        },
    )
    (part,) = (part for part in parts if part.startswith("### deviation\n"))
    items = re.findall(r"^- `(.*?)`: ", part, re.MULTILINE)
    assert items == ["cell", "step", "trial"]
    rule = part.removeprefix("### deviation").partition("| kind")[0]
    assert re.findall(r"\w+", rule.lower()) == re.findall(
        r"\w+", findings_list["RULES"]["when"](Kind.DEVIATION_CELL).lower()
    )
    head, _, outlier, step, trial = part.splitlines()[-5:]
    assert head == "| kind | severity | what to do | produced by | precision | recall |"
    assert outlier.startswith(f"| `deviation/cell` | warning | {Kind.DEVIATION_CELL.advice} | ")
    assert outlier.endswith(
        " | recorded: `one` 3, `two` 1; planted: `a` 1/3, `b` 2/3; tested: 1 | 57/58 | 57/60 |"
    )
    assert step.endswith(" | imported: `three` 2 | – | – |")
    assert trial.endswith(" | – | – | – |")
