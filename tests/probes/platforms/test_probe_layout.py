"""Where each piece of the probe's C has its place: storeys, sizes, names, first sentences."""

from __future__ import annotations

import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from folders import PROBES

STOREYS = ("pure", "platform", "protocol", "test", "loops", "agent")
"""From the ground up: a file includes those of its own storey and of those below."""
LINES_A_FILE, LINES_A_FUNCTION = 700, 60
SYSTEMS = {
    "linux": ("posix", "linux"),
    "macos": ("posix", "bsd"),
    "freebsd": ("posix", "bsd"),
    "windows": ("windows",),
}
"""The platform's folders of each system, as the Makefile has them."""


def c_files(probes: Path, folders: tuple[str, ...] = ("src", "tests", "fuzz")) -> list[Path]:
    return sorted(path for folder in folders for path in (probes / folder).rglob("*.[ch]"))


def includes(path: Path) -> list[str]:
    """What a file includes of ours: `loops/open.h`."""
    return re.findall(r'^#\s*include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)


def functions(path: Path) -> Iterator[tuple[str, bool, int]]:
    """Name, whether it is static, and lines of each function, its head included."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for opening, line in enumerate(lines):
        if line != "{":
            continue
        head = opening - 1
        while lines[head][:1] in (" ", "\t"):
            head -= 1
        end = lines.index("}", opening)
        text = " ".join(lines[head:opening])
        if name := re.search(r"(\w+)\(", text):
            yield name[1], text.startswith("static "), end - head + 1


def wrong_storeys(probes: Path) -> list[str]:
    source = probes / "src"
    wrong = []
    for path in c_files(probes, ("src",)):
        storey = path.relative_to(source).parts[0]
        for included in includes(path):
            below = included.partition("/")[0]
            if storey in STOREYS and below in STOREYS:
                if STOREYS.index(below) > STOREYS.index(storey):
                    wrong.append(f"{path.relative_to(source)} includes {included}")
            elif storey in STOREYS:
                wrong.append(f"{path.relative_to(source)} includes {included}")
    return wrong


def knots(probes: Path) -> list[str]:
    """Files of one folder that know each other; NAME.c and NAME.h are one."""
    source = probes / "src"
    graph: dict[str, set[str]] = defaultdict(set)
    for path in c_files(probes, ("src",)):
        name = path.relative_to(source).with_suffix("").as_posix()
        graph[name] |= {included.removesuffix(".h") for included in includes(path)} - {name}

    def reached(name: str) -> set[str]:
        nodes: set[str] = set()
        stack = [name]
        while stack:
            more = graph.get(stack.pop(), set()) - nodes
            nodes |= more
            stack += more
        return nodes

    return sorted(name for name in graph if name in reached(name))


def long_files(probes: Path) -> list[str]:
    return [
        str(path)
        for path in c_files(probes)
        if len(path.read_text(encoding="utf-8").splitlines()) > LINES_A_FILE
    ]


def long_functions(probes: Path) -> list[str]:
    return [
        f"{path}: {name}"
        for path in c_files(probes)
        for name, _, lines in functions(path)
        if lines > LINES_A_FUNCTION
    ]


def names_of_two(probes: Path) -> list[str]:
    """Static functions of one system's build that share a name."""
    source = probes / "src"
    wrong = set()
    for system, folders in SYSTEMS.items():
        owners: dict[str, set[Path]] = defaultdict(set)
        for path in c_files(probes, ("src",)):
            room = path.parent.relative_to(source).as_posix()
            is_foreign = path.stem in SYSTEMS and path.parent.name == "bsd" and path.stem != system
            if room.startswith("platform/") and (path.parent.name not in folders or is_foreign):
                continue
            for name, static, _ in functions(path):
                if static:
                    owners[name].add(path)
        wrong |= {name for name, paths in owners.items() if len(paths) > 1}
    return sorted(wrong)


def poor_first_sentences(probes: Path) -> list[str]:
    """Files that do not say in one short sentence what they are for: the code map shows it."""
    wrong = []
    for path in c_files(probes, ("src",)):
        text = path.read_text(encoding="utf-8")
        match = re.match(r"/\*\s*(.*?[.:])(?:\s|\*/)", text, re.DOTALL)
        sentence = re.sub(r"\s+\*?\s*", " ", match[1]).strip() if match else ""
        if not (sentence.endswith(".") and 20 <= len(sentence) <= 95):
            wrong.append(f"{path.relative_to(probes)}: {sentence}")
    return wrong


RULES: dict[str, Callable[[Path], list[str]]] = {
    "a file includes those of its own storey and below alone": wrong_storeys,
    "no two files of a folder include each other": knots,
    "a file has 700 lines at most": long_files,
    "a function has 60 lines at most": long_functions,
    "two files do not give one name to two functions": names_of_two,
    "a file says in its first sentence what it is for": poor_first_sentences,
}


@pytest.mark.parametrize("rule", RULES)
def test_the_sources_of_the_probe_follow_each_rule_of_their_layout(rule: str) -> None:
    assert RULES[rule](PROBES) == []


def add_to(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def include_upwards(probes: Path) -> None:
    add_to(probes / "src/test/records.c", '#include "agent/result.h"\n')


def include_each_other(probes: Path) -> None:
    add_to(probes / "src/protocol/request.h", '#include "protocol/settings.h"\n')


def add_lines(probes: Path) -> None:
    add_to(probes / "tests/harness.c", "\n" * LINES_A_FILE)


def add_function(probes: Path) -> None:
    add_to(probes / "src/loops/send.c", "static int much(void)\n{\n" + "    ;\n" * 58 + "}\n")


def add_names(probes: Path) -> None:
    for name in ("src/loops/send.c", "src/platform/bsd/bsd.c"):
        add_to(probes / name, "static int twice(void)\n{\n    return 1;\n}\n")


def shorten_sentence(probes: Path) -> None:
    path = probes / "src/agent/agent.h"
    path.write_text("/* Version: of this. */\n", encoding="utf-8")


BREACHES = dict(
    zip(
        RULES,
        (
            include_upwards,
            include_each_other,
            add_lines,
            add_function,
            add_names,
            shorten_sentence,
        ),
        strict=True,
    )
)


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_of_the_layout_detects_a_planted_breach(tmp_path: Path, rule: str) -> None:
    probes = tmp_path / "probes"
    shutil.copytree(PROBES, probes, ignore=shutil.ignore_patterns("build"))
    old_faults = RULES[rule](probes)
    BREACHES[rule](probes)
    assert len(RULES[rule](probes)) > len(old_faults)
