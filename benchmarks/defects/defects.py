"""The list of planted defects: drawn once over all packages and the probe, and located anew.

A defect is stored without its line: its kind, the file and function that it was drawn in, and the
pattern of the syntax that it alters. Changed code is searched for the same pattern in the function
of that name, in the same file first and then in every other.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.defects import c_sites, python_sites
from benchmarks.defects.python_sites import Place

LIST = Path(__file__).with_name("list.json")
LEFT_OUT = re.compile(
    r"netlab/(testing|version|__main__)|/vendor/|/lab/.*\.c$|_kinds?/|findings/(kind|kinds_of_\w+|catalogue).py"
)


@dataclass(frozen=True, slots=True)
class Defect:
    """One line of the list."""

    number: int
    kind: str
    path: str
    function: str
    pattern: str
    nth: int
    """Of the places of this kind and pattern in the function, from 0."""


@dataclass(frozen=True, slots=True)
class Located:
    """A defect in a tree."""

    defect: Defect
    path: Path
    place: Place

    def plant(self, source: str) -> str:
        """The file's text with the defect."""
        lines = source.splitlines(keepends=True)
        lines[self.place.line - 1 : self.place.end_line] = [self.place.altered + "\n"]
        return "".join(lines)

    def mark(self, source: str) -> str:
        """The file's text with a call before the statement that notes who executes it."""
        lines = source.splitlines(keepends=True)
        line = lines[self.place.line - 1]
        indent = line[: len(line) - len(line.lstrip())]
        call = f"defect_hit({self.defect.number});"
        if self.path.suffix == ".py":
            call = f"__import__('defect_hits').hit({self.defect.number})"
        lines.insert(self.place.line - 1, f"{indent}{call}\n")
        return "".join(lines)


def sources(tree: Path) -> list[Path]:
    """The files of the product, in their order."""
    files = [*(tree / "netlab").rglob("*.py"), *(tree / "probes" / "src").rglob("*.c")]
    return sorted(
        file
        for file in files
        if not LEFT_OUT.search(file.relative_to(tree).as_posix())
        and not re.search(r"/(bsd|windows)/", file.as_posix())
    )


def places_of(file: Path) -> list[Place]:
    """All places of a file."""
    reader = python_sites if file.suffix == ".py" else c_sites
    return [*reader.places(file.read_text("utf-8"))]


def read() -> list[Defect]:
    """The list."""
    return [Defect(**line) for line in json.loads(LIST.read_text("utf-8"))]


def write(defects: list[Defect]) -> None:
    """Store the list, a defect a line."""
    lines = ",\n".join(json.dumps(asdict(defect)) for defect in defects)
    LIST.write_text(f"[\n{lines}\n]\n", "utf-8")


def locate(tree: Path, defects: list[Defect]) -> Iterator[Located]:
    """The defects that the tree has a place for."""
    files = {file.relative_to(tree).as_posix(): file for file in sources(tree)}
    known: dict[str, list[Place]] = {}
    for defect in defects:
        for name in sorted(files, key=lambda name: name != defect.path):
            if name not in known:
                known[name] = places_of(files[name])
            found = [
                place
                for place in known[name]
                if (place.kind, place.function.rpartition(".")[2], place.pattern)
                == (defect.kind, defect.function.rpartition(".")[2], defect.pattern)
            ]
            if found:
                yield Located(defect, files[name], found[min(defect.nth, len(found) - 1)])
                break


def draw(tree: Path, number: int, seed: str) -> list[Defect]:
    """As many defects of each package and kind as possible: packages in turn, and within a package
    the kinds in turn, files and places at random.
    """
    chance = random.Random(seed)  # noqa: S311  (no secret)
    by_package: dict[str, dict[str, list[tuple[str, Place]]]] = {}
    for file in sources(tree):
        name = file.relative_to(tree).as_posix()
        top, package, *_ = name.split("/")
        group = top if top == "probes" or package.endswith(".py") else package
        kinds = by_package.setdefault(group, {})
        for place in places_of(file):
            kinds.setdefault(place.kind, []).append((name, place))
    chosen: list[tuple[str, Place]] = []
    turns = {name: chance.sample(sorted(kinds), len(kinds)) for name, kinds in by_package.items()}
    weights = [name for name in sorted(turns) for _ in range(6 if name == "probes" else 1)]
    while len(chosen) < number:
        for package in weights:
            kind = turns[package].pop(0)
            turns[package].append(kind)
            chosen.append(chance.choice(by_package[package][kind]))
    defects: list[Defect] = []
    for name, place in dict.fromkeys(chosen):
        equal = [
            other
            for other in places_of(tree / name)
            if (other.kind, other.function, other.pattern)
            == (place.kind, place.function, place.pattern)
        ]
        nth = equal.index(place)
        path = (len(defects) + 1, place.kind, name, place.function, place.pattern, nth)
        defects.append(Defect(*path))
    return defects
