"""Writes docs/reliability.md from the fault suite: one row a file of tests/faults.

``python docs/scripts/reliability.py [RESULTS.xml]`` (``make reliability``). A file's first sentence
says what holds; with the results of pytest (``--junitxml``) come the figures that its tests
recorded (``record_property("figure", …)``, ``"n"``, ``"seed"``) and what was skipped, with the
reason; of tests that record none, how many cases passed. Without results the figures of before
stay.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parent.parent.parent
SUITE = ROOT / "tests" / "faults"
PAGE = ROOT / "docs" / "reliability.md"
BEGIN, END = "<!-- made by docs/scripts/reliability.py -->", "<!-- end -->"
WHERE = {
    "link": "Cables and paths",
    "host": "Hosts and their probes",
    "login": "SSH and logins",
    "store": "Run folders, disks and files",
    "control": "Between controller and probe",
    "person": "Signals and terminals",
}
RECORDED = ("figure", "n", "seed")
NOT_PASSED = ("skipped", "failure", "error")
BAR = "\\|"
HEAD = "| row | what holds | figure | n | seed | command |\n|---|---|---|---|---|---|\n"


Results = dict[str, dict[str, list[str]]]
"""File's stem → name of what was recorded → values, in the order of the tests."""


@dataclass(frozen=True, slots=True)
class FaultRow:
    """One row of the table."""

    number: int
    file: Path
    holds: str

    def line(self, results: Results) -> str:
        """Its line of the table, with what its tests recorded."""
        known = results.get(self.file.stem, {})
        recorded = ("; ".join(dict.fromkeys(known.get(name, []))) for name in RECORDED)
        command = f"`pytest {self.file.relative_to(ROOT).as_posix()}`"
        cells = (str(self.number), self.holds, *recorded, command)
        return "| " + " | ".join(each.replace("|", BAR) for each in cells) + " |\n"


def rows() -> dict[str, list[FaultRow]]:
    """Folder → its rows in the order of their numbers; ValueError where a file has no sentence."""
    found: dict[str, list[FaultRow]] = {where: [] for where in WHERE}
    for file in sorted(SUITE.glob("*/test_*.py")):
        number = re.match(r"test_(\d\d)_", file.name)
        said = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
        holds = re.match(r"(.*?\.)(?:\s|$)", said, re.DOTALL)
        if number is None or holds is None or file.parent.name not in WHERE:
            raise ValueError(
                f"{file.name}: a row is tests/faults/WHERE/test_NN_NAME.py, a sentence first"
            )
        text = re.sub(r"\s+", " ", holds[1])
        found[file.parent.name].append(FaultRow(int(number[1]), file, text))
    return found


def results_in(path: Path) -> Results:
    """File's stem → name of a property → its values, in the order of the tests."""
    found: Results = defaultdict(lambda: defaultdict(list))
    cases: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    for case in ElementTree.parse(path).iter("testcase"):  # noqa: S314 - pytest wrote it just now
        stem = re.search(r"test_\d\d_\w+", case.get("classname", ""))
        if stem is None:
            continue
        for each in case.iter("property"):
            found[stem[0]][each.get("name", "")].append(each.get("value", ""))
        others = [(word, each) for word in NOT_PASSED for each in case.iter(word)]
        cases[stem[0]] += 1
        passed[stem[0]] += not others
        for word, each in others:
            reason = (each.get("message") or "").splitlines()[0]
            found[stem[0]]["figure"].append(f"{word}: {reason}")
    for name, number in cases.items():
        if not found[name]["figure"]:
            found[name]["figure"] = [f"{passed[name]} of {number} case{'s' * (number != 1)}"]
    return found


def figures_of_before() -> Results:
    """As ``results_in``, from the page as it is."""
    found: Results = {}
    for line in PAGE.read_text("utf-8").splitlines() if PAGE.exists() else ():
        cells = [each.strip() for each in re.split(r"(?<!\\)\|", line)[1:-1]]
        stem = re.search(r"test_\d\d_\w+", cells[-1]) if cells else None
        if stem is not None:
            values = (each.replace(BAR, "|") for each in cells[2:-1])
            recorded = zip(RECORDED, values, strict=True)
            found[stem[0]] = {name: [value] for name, value in recorded if value}
    return found


def table(results: Results) -> str:
    """The tables of all folders."""
    parts = []
    for where, of_folder in rows().items():
        lines = "".join(row.line(results) for row in of_folder)
        if lines:
            parts.append(f"## {WHERE[where]}\n\n{HEAD}{lines}")
    return "\n".join(parts)


def updated(results: Results) -> str:
    """The page with its tables made again."""
    text = PAGE.read_text("utf-8")
    before, rest = text.split(BEGIN, 1)
    return f"{before}{BEGIN}\n\n{table(results)}\n{END}{rest.split(END, 1)[1]}"


if __name__ == "__main__":
    given = [Path(word) for word in sys.argv[1:]]
    PAGE.write_text(updated(results_in(given[0]) if given else figures_of_before()), "utf-8")
