"""docs/reference/glossary.md: texts use its terms, and none of the words that it rules out."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from folders import DOCS, ROOT
from glossary_page import PAGE, Misuse, forbidden_words, misuses, terms

from netlab.cli import cli

WORDS = forbidden_words(PAGE.read_text("utf-8"))
TEXTS = sorted({ROOT / "README.md", ROOT / "ARCHITECTURE.md", *DOCS.rglob("*.md")} - {PAGE})
MESSAGES = "messages of the report"

ALLOWED = {
    ("ARCHITECTURE.md", "packet size"): "the definition of the message size excludes this word",
    ("docs/findings.md", "time series"): "a part of the title of a book",
}
"""(place, forbidden word) → why it may be there."""


def commands(command: click.Command, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The words of each command below this one, and its help."""
    # click keeps a command's help option, with the names that it has the first time.
    names_of_help = cli.context_settings["help_option_names"]
    context = click.Context(command, info_name=" ".join(names), help_option_names=names_of_help)
    yield " ".join(names), command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from commands(inner, (*names, name))


HELP = dict(commands(cli, ("netlab",)))


def place_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def not_allowed(place: str, text: str) -> list[str]:
    """The misuses of a text as lines for whoever must correct them."""
    return [
        f"{place}:{misuse.line}: {misuse.word} → {misuse.term}"
        for misuse in misuses(text, WORDS)
        if (place, misuse.word) not in ALLOWED
    ]


@pytest.fixture(scope="module")
def messages() -> list[str]:
    """The English of each message of the report, both forms of a plural."""
    script = runpy.run_path(str(DOCS / "scripts" / "messages.py"))
    ids = [message.id for message in script["collected"]() if message.id]
    return [form for forms in ids for form in (forms if isinstance(forms, tuple) else (forms,))]


def test_every_word_that_is_ruled_out_has_a_term_of_the_glossary() -> None:
    assert len(WORDS) > 30
    glossary_terms = {term for replacements in WORDS.values() for term in replacements}
    assert glossary_terms - set(terms()) == set()


@pytest.mark.parametrize("path", TEXTS, ids=place_of)
def test_the_documentation_uses_the_terms(path: Path) -> None:
    assert not_allowed(place_of(path), path.read_text("utf-8")) == []


@pytest.mark.parametrize("name", HELP)
def test_the_help_of_each_command_uses_the_terms(name: str) -> None:
    assert not_allowed(f"{name} --help", HELP[name]) == []


def test_the_messages_of_the_report_use_the_terms(messages: list[str]) -> None:
    assert len(messages) > 500
    assert [line for text in messages for line in not_allowed(MESSAGES, text)] == []


def test_every_allowed_place_still_has_its_word() -> None:
    needed = {
        (place_of(path), misuse.word)
        for path in TEXTS
        for misuse in misuses(path.read_text("utf-8"), WORDS)
    }
    assert set(ALLOWED) - needed == set()


# ---- the search itself ----


@pytest.mark.parametrize(
    "text",
    [
        "The bandwidth of the path.",
        "Bandwidth, as other tools call it",
        "more bandwidths than one",
        "the **bandwidth**",
        "[bandwidth](stream.md)",
        "a `rate`, or bandwidth, of {rate}",
    ],
)
def test_a_planted_word_is_found(text: str) -> None:
    assert misuses(text, WORDS) == [Misuse(1, "bandwidth", "throughput")]


@pytest.mark.parametrize("text", ["packet size", "Packet sizes", "packet-size", "packet\nsize"])
def test_a_word_of_several_parts_is_found_in_each_spelling(text: str) -> None:
    assert misuses(text, WORDS) == [Misuse(1, "packet size", "message size")]


@pytest.mark.parametrize(
    "text",
    [
        "the throughput of the path",
        "`bandwidth` is an option of another tool",
        "``a `bandwidth` in ticks``",
        "```\n--bandwidth 10M\n```\n",
        "[iperf](https://example.org/bandwidth)",
        "<!-- bandwidth -->",
        "at {bandwidth}, %(bandwidth)s",
        "a bandwidthless word, bandwidth-limited, --bandwidth",
    ],
)
def test_names_and_longer_words_are_not_found(text: str) -> None:
    assert misuses(text, WORDS) == []


def test_a_word_planted_in_a_copy_of_a_page_is_found_with_its_line(tmp_path: Path) -> None:
    page = (DOCS / "matrix.md").read_text("utf-8")
    copy = tmp_path / "matrix.md"
    copy.write_text(f"{page}\nEach test case has a data\nrate.\n", "utf-8")
    last = len(page.splitlines()) + 2
    assert not_allowed("docs/matrix.md", copy.read_text("utf-8")) == [
        f"docs/matrix.md:{last}: test case → cell",
        f"docs/matrix.md:{last}: data rate → throughput",
    ]


def test_a_table_with_a_word_twice_or_no_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no table"):
        forbidden_words("# Glossary\n")
    with pytest.raises(ValueError, match="bandwidth is in the table twice"):
        forbidden_words("| not | but |\n|---|---|\n| bandwidth | a |\n| bandwidth | b |\n")
