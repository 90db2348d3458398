"""The code of docs/extending.md is what tests run, and the files that it names exist."""

from __future__ import annotations

import re

from folders import DOCS, ROOT

TEXT = (DOCS / "extending.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## An? (.*)\n((?:(?!## ).*\n)*)", TEXT, re.MULTILINE))
RUN_BY = {
    "setting of a test": "tests/made/made_setting.py",
    "kind of test": "tests/made/bounce",
    "finding": "tests/findings/test_findings_added.py",
    "importer": "tests/imports/test_importers.py",
    "engine": "netlab/measurement/engines.py",
}
"""Section → the file or folder with its code; what a language says is in its catalogue alone."""
MOST_FILES = {
    "setting of a test": 3,
    "kind of test": 2,
    "finding": 2,
    "importer": 1,
    "engine": 1,
    "language": 1,
}


def flat(text: str) -> str:
    """Code without white space, and without commas before an end: as it is, however it is set."""
    return re.sub(r",(?=[)\]}])", "", re.sub(r"\s+", "", text))


def test_the_page_on_extending_has_a_section_for_each_thing_that_people_add() -> None:
    assert SECTIONS.keys() == MOST_FILES.keys()


def test_each_code_example_on_the_page_about_extending_occurs_in_the_repository() -> None:
    for section, place in RUN_BY.items():
        files = sorted((ROOT / place).glob("*.py")) or [ROOT / place]
        run = flat("".join(file.read_text("utf-8") for file in files))
        pieces = re.findall(r"```python\n(.*?)```", SECTIONS[section], re.DOTALL)
        assert pieces
        for piece in pieces:
            assert flat(piece) in run


def test_each_section_about_extending_names_few_files_and_only_existing_ones() -> None:
    for section, most in MOST_FILES.items():
        (line,) = re.findall(r"^Files: (.*)$", SECTIONS[section], re.MULTILINE)
        paths = re.findall(r"`([\w/.]+)`", line)
        assert 1 <= len(paths) <= most
        assert [path for path in paths if not (ROOT / path.replace("CODE", "de")).exists()] == []
