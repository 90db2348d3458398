"""Makes the list of the fault suite: one row per file of tests/faults, with its last figures.

A file's first sentence states what holds. ``python docs/scripts/reliability.py RESULTS.xml``
(``make reliability``) stores the figures of a run of pytest (``--junitxml``) in
reliability_measured.json: those that the tests recorded (``record_property("figure", …)``, ``"n"``,
``"seed"``), skipped tests with the reason, and for tests without figures the number of passed
cases. Cases that judge what is stored of an earlier night (``[recorded…]``) are left out. The site
shows the list in docs/reliability.md.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent.parent
SUITE = ROOT / "tests" / "faults"
MEASURED = ROOT / "docs" / "scripts" / "reliability_measured.json"
WHERE = {
    "link": "Cables and paths",
    "host": "Hosts and their probes",
    "login": "SSH and logins",
    "store": "Run folders, disks and files",
    "control": "Between controller and probe",
    "person": "Signals and terminals",
}
RECORDED = ("figure", "n", "seed")
RECORDED_CASE = re.compile(r"\[recorded\b")
NOT_PASSED = ("skipped", "failure", "error")
BAR = "\\|"
HEAD = "| row | what holds | figure | n | seed | command |\n|---|---|---|---|---|---|\n"


Results = dict[str, dict[str, list[str]]]
"""File's stem → name of the property → values, in the order of the tests."""


@dataclass(frozen=True, slots=True)
class FaultRow:
    """One row of the table."""

    number: int
    file: Path
    holds: str

    def line(self, results: Results) -> str:
        """Its line of the table, with the figures of its tests."""
        figures = results.get(self.file.stem, {})
        recorded = ("; ".join(dict.fromkeys(figures.get(name, []))) for name in RECORDED)
        command = f"`pytest {self.file.relative_to(ROOT).as_posix()}`"
        cells = (str(self.number), self.holds, *recorded, command)
        return "| " + " | ".join(cell.replace("|", BAR) for cell in cells) + " |\n"


def rows() -> dict[str, list[FaultRow]]:
    """Folder → its rows in the order of their numbers; ValueError if a file has no sentence."""
    by_folder: dict[str, list[FaultRow]] = {folder: [] for folder in WHERE}
    for file in sorted(SUITE.glob("*/test_*.py")):
        number = re.match(r"test_(\d\d)_", file.name)
        docstring = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
        holds = re.match(r"(.*?\.)(?:\s|$)", docstring, re.DOTALL)
        if number is None or holds is None or file.parent.name not in WHERE:
            raise ValueError(
                f"{file.name}: should be tests/faults/WHERE/test_NN_NAME.py, with a first sentence"
            )
        text = re.sub(r"\s+", " ", holds[1])
        by_folder[file.parent.name].append(FaultRow(int(number[1]), file, text))
    return by_folder


def results_in(path: Path) -> Results:
    """File's stem → name of a property → its values, in the order of the tests."""
    results: Results = defaultdict(lambda: defaultdict(list))
    cases: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    for case in ElementTree.parse(path).iter("testcase"):  # noqa: S314 - pytest wrote it just now
        stem = re.search(r"test_\d\d_\w+", case.get("classname", ""))
        if stem is None or RECORDED_CASE.search(case.get("name", "")):
            continue
        for entry in case.iter("property"):
            results[stem[0]][entry.get("name", "")].append(entry.get("value", ""))
        failures = [(word, element) for word in NOT_PASSED for element in case.iter(word)]
        cases[stem[0]] += 1
        passed[stem[0]] += not failures
        for word, element in failures:
            reason = (element.get("message") or "").splitlines()[0]
            results[stem[0]]["figure"].append(f"{word}: {reason}")
    for name, number in cases.items():
        if not results[name]["figure"]:
            results[name]["figure"] = [f"{passed[name]} of {number} case{'s' * (number != 1)}"]
    return results


def measured() -> Results:
    """As ``results_in``, of the last run of the suite."""
    results: Results = json.loads(MEASURED.read_text("utf-8"))
    return results


def table(results: Results) -> str:
    """The tables of all folders."""
    parts = []
    for folder, of_folder in rows().items():
        lines = "".join(row.line(results) for row in of_folder)
        if lines:
            parts.append(f"### {WHERE[folder]}\n\n{HEAD}{lines}")
    return "\n".join(parts)


def store(results: Results) -> None:
    """Write the figures that the table shows."""
    shown = {
        stem: {name: values for name, values in sorted(figures.items()) if name in RECORDED}
        for stem, figures in sorted(results.items())
    }
    MEASURED.write_text(json.dumps(shown, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    store(results_in(Path(sys.argv[1])))
