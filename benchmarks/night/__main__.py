"""Runs the rows whose files changed since they ran, and writes the table: `make nightly`.

``python -m benchmarks.night night|week [--again] [NAME …]``. The table in docs/night.md is written
after each row, so that an ended night goes on where it was. The output of each row is in
build/night. The exit status is 0 if every row asked for is valid and has passed.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import re
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.night.rows import NIGHT, WEEK, Row
from benchmarks.stage import ROOT

PAGE = ROOT / "docs" / "night.md"
OUTPUT = ROOT / "build" / "night"
TABLES = {"night": NIGHT, "week": WEEK}
HEAD = "| what | result | minutes | date | commit | files |\n|---|---|---|---|---|---|\n"
PASSED = "passed: "
MOST_WORDS = 36
"""Of what a row printed. Verdict and seed make it a cell of at most 40."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One line of the table."""

    name: str
    result: str
    """``passed: `` or ``failed: ``, and the last line that the row printed, but for make's."""
    minutes: str
    date: str
    commit: str
    digest: str
    """Of the row's files, as they were."""

    def line(self) -> str:
        """The line as the page has it."""
        cells = (self.name, self.result, self.minutes, self.date, self.commit, self.digest)
        return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |\n"


def digest(files: Sequence[str]) -> str:
    """Of all files in the repository below these paths, by name and content."""
    listed = subprocess.run(
        ["git", "ls-files", "--", *files], cwd=ROOT, capture_output=True, text=True, check=True
    )
    total = hashlib.sha256()
    for name in sorted(listed.stdout.splitlines()):
        path = ROOT / name
        content = path.read_bytes() if path.is_file() else b""
        total.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return total.hexdigest()[:12]


def marks(table: str) -> tuple[str, str]:
    """The lines of the page between which a table is."""
    return f"<!-- made by make {table}ly -->", "<!-- end -->"


def outcomes_of(page: str, table: str) -> dict[str, Outcome]:
    """The lines of a table by their names; empty if the page has none yet."""
    begin, end = marks(table)
    between = page.partition(begin)[2].partition(end)[0]
    rows = [line.strip("| ").split(" | ") for line in between.splitlines() if line.startswith("| ")]
    return {cells[0]: Outcome(*cells) for cells in rows[1:] if len(cells) == 6}


def with_table(page: str, table: str, outcomes: dict[str, Outcome]) -> str:
    """The page with this table; ``SystemExit`` if it has no place for one."""
    begin, end = marks(table)
    lines = "".join(outcomes[row.name].line() for row in TABLES[table] if row.name in outcomes)
    between = re.compile(re.escape(begin) + r".*?" + re.escape(end), re.DOTALL)
    page, places = between.subn(lambda _: f"{begin}\n{HEAD}{lines}{end}", page, count=1)
    if not places:
        raise SystemExit(f"{PAGE}: no place between {begin} and {end} for the table")
    return page


def is_valid(outcome: Outcome | None, row: Row) -> bool:
    """Whether a line still holds: it passed, and its files are the same."""
    passed = outcome is not None and outcome.result.startswith(PASSED)
    return passed and outcome is not None and outcome.digest == digest(row.files)


def short(line: str) -> str:
    """A line as it fits into a cell; build/night has it whole."""
    words = line.split()
    return line if len(words) <= MOST_WORDS else " ".join([*words[: MOST_WORDS - 1], "…"])


def run(row: Row) -> Outcome:
    """Run one row to its end."""
    seed = secrets.token_hex(4)
    words = shlex.split(row.command.format(python=sys.executable, seed=seed))
    print(f"{row.name}: {shlex.join(words)}", flush=True)
    begin, before = time.monotonic(), digest(row.files)
    OUTPUT.mkdir(parents=True, exist_ok=True)
    file = OUTPUT / f"{re.sub(r'[^a-z]+', '-', row.name)}.txt"
    with file.open("w", encoding="utf-8") as output:
        try:
            limit_s = row.most_min * 60
            status = subprocess.run(
                words, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, timeout=limit_s,
                check=False,
            ).returncode  # fmt: skip
            lines = file.read_text("utf-8").splitlines()
            told = [line for line in lines if line and not line.startswith("make")]
            last = short(told[-1].strip("= ")) if told else "no output"
        except subprocess.TimeoutExpired:
            status, last = 1, f"not over in {row.most_min} min"
    seeded = f" (seed {seed})" if "{seed}" in row.command else ""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    return Outcome(
        row.name,
        f"{PASSED if status == 0 else 'failed: '}{last}{seeded}",
        f"{(time.monotonic() - begin) / 60:.1f}",
        datetime.datetime.now(datetime.UTC).date().isoformat(),
        commit,
        before,
    )


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    words.add_argument("table", choices=TABLES)
    words.add_argument("names", nargs="*", metavar="NAME", help="all rows where none is named")
    words.add_argument("--again", action="store_true", help="valid rows too")
    arguments = words.parse_intermixed_args()
    rows = {row.name: row for row in TABLES[arguments.table]}
    if unknown := [name for name in arguments.names if name not in rows]:
        words.error(f"no row {unknown[0]!r}: {', '.join(rows)}")
    outcomes = outcomes_of(PAGE.read_text("utf-8"), arguments.table)
    for name in arguments.names or rows:
        if arguments.again or not is_valid(outcomes.get(name), rows[name]):
            outcomes[name] = run(rows[name])
            print(outcomes[name].line(), end="", flush=True)
            page = with_table(PAGE.read_text("utf-8"), arguments.table, outcomes)
            PAGE.write_text(page, "utf-8")
    valid = [name for name in rows if is_valid(outcomes.get(name), rows[name])]
    print(f"{arguments.table}: {len(valid)} of {len(rows)} rows are valid and have passed")
    return 0 if {*(arguments.names or rows)} <= {*valid} else 1


if __name__ == "__main__":
    sys.exit(main())
