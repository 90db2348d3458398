"""Plants each defect of the list and tries the tests that execute its line: `make defects`.

``python -m benchmarks.defects draw|try|compare``. ``try`` copies the tree, notes in one pass over
the tests which of them execute the line of each defect, and then plants one defect at a time and
runs these tests, the quickest first, to the first failure. ``compare BEFORE AFTER`` fails if a
defect that was found before is missed after.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.defects import defects
from benchmarks.defects.defects import Located
from benchmarks.stage import ROOT, table

SEED, NUMBER = "netlab", 84
LEAST_LIMIT_S, MOST_SLOWER = 300.0, 3
"""The tests of one defect may take three times as long as without it, and some more: beyond that
the defect keeps one of them from its end, and counts as found."""
HITS = """
import os, pathlib

FOLDER = pathlib.Path({folder!r})
NOTED = set()

def hit(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if not test:
        try:
            test = (FOLDER / "current").read_text()
        except OSError:
            return
    if (number, test) in NOTED:
        return
    NOTED.add((number, test))
    path = FOLDER / f"hits-{{os.getpid()}}"
    with path.open("a") as file:
        file.write(f"{{number}} {{test}}\\n")
"""
C_HITS = """
#ifndef DEFECT_HITS
#define DEFECT_HITS
#include <stdio.h>
#include <stdlib.h>
static inline void defect_hit(int number)
{{
    char test[1024] = "";
    const char *words = getenv("PYTEST_CURRENT_TEST");
    FILE *file = words ? NULL : fopen("{folder}/current", "r");
    if (file) {{
        if (!fgets(test, sizeof test, file)) test[0] = 0;
        fclose(file);
    }}
    file = fopen("{folder}/hits-c", "a");
    if (file) {{
        fprintf(file, "%d %s\\n", number, words ? words : test);
        fclose(file);
    }}
}}
#endif
"""
RECORDER = """
import json, os, pathlib, pytest

FOLDER = pathlib.Path({folder!r})
SECONDS, FAILED = {{}}, []

def pytest_runtest_logstart(nodeid, location):
    (FOLDER / "current").write_text(nodeid)

def pytest_runtest_logreport(report):
    SECONDS[report.nodeid] = SECONDS.get(report.nodeid, 0) + report.duration
    if report.failed:
        FAILED.append(report.nodeid)

def pytest_collectreport(report):
    if report.failed:
        FAILED.append(report.nodeid)

def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):
        path = FOLDER / "seconds.json"
        old = json.loads(path.read_text()) if path.exists() else {{}}
        path.write_text(json.dumps(old | SECONDS))
        (FOLDER / "failed.json").write_text(json.dumps(FAILED))
"""


@dataclass(frozen=True, slots=True)
class Site:
    """A copy of a tree in which defects are planted, and what it takes to run its tests."""

    tree: Path
    folder: Path
    """Notes of which tests execute what."""

    def pytest(self, *words: str, limit_s: float | None = None) -> subprocess.CompletedProcess[str]:
        """A session of its tests; ``TimeoutExpired`` when the time is over."""
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(self.tree), str(self.folder)]),
            "PYTHONDONTWRITEBYTECODE": "",
        }
        return subprocess.run(
            [sys.executable, "-m", "pytest", *words, "-p", "defect_recorder", "--tb=no"],
            cwd=self.tree, env=environment, capture_output=True, text=True, timeout=limit_s,
            check=False,
        )  # fmt: skip

    def build(self) -> bool:
        """Build the probe of the copy; whether that works."""
        argv = ["make", "-s", "-C", str(self.tree / "probes")]
        process = subprocess.run(argv, capture_output=True, text=True, check=False)
        (self.folder / "build.log").write_text(process.stderr)
        return process.returncode == 0


def made_site(origin: Path, folder: Path) -> Site:
    """Copy a tree, again if an ended session left a defect in its copy."""
    tree = folder / "tree"
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=origin, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if (origin / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            # With a new time, so that make does not keep the object of a defect.
            shutil.copy(origin / name, tree / name, follow_symlinks=False)
    for name in (".git", ".venv"):  # some tests look for what the checkout has beside its files
        if (origin / name).exists() and not (tree / name).exists():
            (tree / name).symlink_to((origin / name).resolve())
    (folder / "defect_hits.py").write_text(HITS.format(folder=str(folder)))
    (folder / "defect_recorder.py").write_text(RECORDER.format(folder=str(folder)))
    site = Site(tree, folder)
    if not site.build():
        raise SystemExit(f"the probe of {tree} cannot be built")
    return site


def note_hits(site: Site, located: list[Located], sessions: list[list[str]]) -> None:
    """One pass over the tests with a note at the line of every defect."""
    by_file: dict[Path, list[Located]] = defaultdict(list)
    for one in located:
        if one.place.begins_line:
            by_file[one.path].append(one)
    before = {file: file.read_text("utf-8") for file in by_file}
    for file, ones in by_file.items():
        text = before[file]
        for one in sorted(ones, key=lambda one: -one.place.line):
            text = one.mark(text)
        if file.suffix == ".c":
            # Behind the includes, before which a file may define what the system's headers ask.
            head, include, rest = text.rpartition("\n#include ")
            line, _, rest = rest.partition("\n")
            text = f"{head}{include}{line}\n{C_HITS.format(folder=site.folder)}{rest}"
        file.write_text(text, "utf-8")
    if not site.build():
        raise SystemExit(f"the probe with notes cannot be built: {site.folder / 'build.log'}")
    for words in sessions:
        process = site.pytest(*words)
        print(" ".join(words), "→", process.stdout.strip().splitlines()[-1:], flush=True)
    for file, text in before.items():
        file.write_text(text, "utf-8")


def seconds_of(site: Site) -> dict[str, float]:
    """Test → how long it takes without a defect."""
    path = site.folder / "seconds.json"
    return json.loads(path.read_text()) if path.exists() else {}


def hits(site: Site, seconds: dict[str, float]) -> dict[int, list[str]]:
    """Number of a defect → the tests that execute its line, the quickest first.

    Tests of tests that a test wrote are none of them.
    """
    tests: dict[int, set[str]] = defaultdict(set)
    for file in site.folder.glob("hits-*"):
        for line in file.read_text(errors="replace").splitlines():
            number, _, test = line.partition(" ")
            test = test.removesuffix(" (setup)").removesuffix(" (call)").removesuffix(" (teardown)")
            if number.isdigit() and (test := test.strip()) in seconds:
                tests[int(number)].add(test)
    return {
        number: sorted(names, key=lambda name: seconds[name]) for number, names in tests.items()
    }


def first_failure(site: Site, tests: list[str], limit_s: float, words: list[str]) -> str:
    """The first of these tests that fails; empty if none does."""
    begin, failed = time.monotonic(), site.folder / "failed.json"
    for first in range(0, len(tests), 400):
        failed.unlink(missing_ok=True)
        (site.folder / "tests.txt").write_text("\n".join(tests[first : first + 400]))
        left_s = max(1.0, limit_s - (time.monotonic() - begin))
        try:
            process = site.pytest("-x", f"@{site.folder / 'tests.txt'}", *words, limit_s=left_s)
        except subprocess.TimeoutExpired:
            return "not over in time"
        if process.returncode != 0:
            names = json.loads(failed.read_text()) if failed.exists() else []
            return names[0] if names else (process.stdout.splitlines() or ["ended"])[-1]
    return ""


def tried(
    site: Site, one: Located, tests: list[str], limit_s: float, words: list[str]
) -> dict[str, Any]:
    """Plant one defect and run the tests, at most this long; what came of it.

    A test that fails without the defect as well has not found it.
    """
    before = one.path.read_text("utf-8")
    outcome: dict[str, Any] = {"number": one.defect.number, "tests": len(tests), "found_by": ""}
    if not tests:
        return outcome | {"result": "no test"}
    while tests:
        try:
            one.path.write_text(one.plant(before), "utf-8")
            if one.path.suffix == ".c" and not site.build():
                return outcome | {"result": "does not compile"}
            by = first_failure(site, tests, limit_s, words)
        finally:
            one.path.write_text(before, "utf-8")
            if one.path.suffix == ".c":
                site.build()
        if not by or by not in tests or not first_failure(site, [by], limit_s, words):
            return outcome | {"found_by": by, "result": "found" if by else "missed"}
        tests = [test for test in tests if test != by]
    return outcome | {"result": "missed"}


def try_all(arguments: argparse.Namespace) -> int:
    """Try the list on a tree, and store the outcomes."""
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    site = made_site(arguments.tree, folder)
    located = [*defects.locate(site.tree, defects.read())]
    gone = {defect.number for defect in defects.read()} - {one.defect.number for one in located}
    print(f"located {len(located)}, gone: {sorted(gone)}", flush=True)
    if not (folder / "seconds.json").exists():
        note_hits(site, located, [words.split() for words in arguments.session])
    seconds, path = seconds_of(site), folder / "outcomes.json"
    tests = hits(site, seconds)
    outcomes = {o["number"]: o for o in json.loads(path.read_text())} if path.exists() else {}
    for one in located:
        if one.defect.number in outcomes:
            continue
        names = tests.get(one.defect.number, [])
        limit_s = LEAST_LIMIT_S + MOST_SLOWER * sum(seconds[name] for name in names)
        outcome = tried(site, one, names, limit_s, arguments.words.split())
        outcomes[one.defect.number] = outcome
        print(one.defect.kind, one.defect.path, one.defect.function, outcome, flush=True)
        path.write_text(json.dumps([*outcomes.values()], indent=1))
    return told([*outcomes.values()])


def told(outcomes: list[dict[str, Any]]) -> int:
    """Print the share found by package."""
    packages = {d.number: "/".join(d.path.split("/")[:2]) for d in defects.read()}
    rows: dict[str, list[str]] = defaultdict(list)
    for outcome in outcomes:
        rows[packages[outcome["number"]]].append(outcome["result"])
    lines = [[name, str(len(r)), str(r.count("found"))] for name, r in sorted(rows.items())]
    print(table(["package", "planted", "found"], lines))
    found = sum(outcome["result"] == "found" for outcome in outcomes)
    print(f"planted defects: {found} of {len(outcomes)} found")
    return 0


def compare(before: Path, after: Path) -> int:
    """1 if a defect that was found before is missed after."""
    one, other = ({o["number"]: o for o in json.loads(p.read_text())} for p in (before, after))
    lost = [n for n, o in one.items() if o["result"] == "found" and n in other
            and other[n]["result"] != "found"]  # fmt: skip
    for outcomes in (one, other):
        told([*outcomes.values()])
    for defect in defects.read():
        if defect.number in lost:
            print("lost:", defect, "was found by", one[defect.number]["found_by"])
    print(f"planted defects: {len(lost)} were found before and are missed after")
    return 1 if lost else 0


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    commands = words.add_subparsers(dest="command", required=True)
    draw = commands.add_parser("draw", help="draw the list anew")
    draw.add_argument("--tree", type=Path, default=ROOT)
    attempt = commands.add_parser("try", help="plant each, and run the tests")
    attempt.add_argument("--tree", type=Path, default=ROOT)
    attempt.add_argument("--folder", type=Path, default=ROOT / "build" / "defects")
    attempt.add_argument(
        "--session", action="append", help="words of a session of pytest that notes the tests",
    )  # fmt: skip
    attempt.add_argument("--words", default="", help="further words of pytest for each defect")
    comparison = commands.add_parser("compare", help="outcomes.json of two trees")
    comparison.add_argument("before", type=Path)
    comparison.add_argument("after", type=Path)
    arguments = words.parse_args()
    if arguments.command == "draw":
        defects.write(defects.draw(arguments.tree, NUMBER, SEED))
        return 0
    if arguments.command == "compare":
        return compare(arguments.before, arguments.after)
    arguments.session = arguments.session or [
        "--kinds unit,agents -n auto --dist loadfile",
        "--kinds demo,lab",
    ]
    return try_all(arguments)


if __name__ == "__main__":
    sys.exit(main())
