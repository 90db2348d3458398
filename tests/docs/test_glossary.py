"""Texts use the terms of the glossary and none of the words that it rules out."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from functools import cache
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


def place_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def text_of(path: Path) -> str:
    return path.read_text("utf-8")


@cache
def misuses_in(text: str) -> list[Misuse]:
    return misuses(text, WORDS)


def not_allowed(place: str, text: str) -> list[str]:
    """The misuses of a text as lines for whoever must correct them."""
    return [
        f"{place}:{misuse.line}: {misuse.word} → {misuse.term}"
        for misuse in misuses_in(text)
        if (place, misuse.word) not in ALLOWED
    ]


@pytest.fixture(scope="module")
def messages() -> list[str]:
    """The English of each message of the report, both forms of a plural."""
    script = runpy.run_path(str(DOCS / "scripts" / "messages.py"))
    ids = [message.id for message in script["collected"]() if message.id]
    return [form for forms in ids for form in (forms if isinstance(forms, tuple) else (forms,))]


def test_every_word_that_the_glossary_rules_out_has_a_term_of_the_glossary() -> None:
    assert len(WORDS) > 30
    glossary_terms = {term for replacements in WORDS.values() for term in replacements}
    assert glossary_terms - set(terms()) == set()


def test_the_documentation_uses_the_terms_of_the_glossary() -> None:
    assert len(TEXTS) > 30
    assert [line for path in TEXTS for line in not_allowed(place_of(path), text_of(path))] == []


def test_the_help_of_each_command_uses_the_terms_of_the_glossary() -> None:
    help_by_command = dict(commands(cli, ("netlab",)))
    assert len(help_by_command) > 20
    assert [
        line
        for name, text in help_by_command.items()
        for line in not_allowed(f"{name} --help", text)
    ] == []


def test_the_messages_of_the_report_use_the_terms_of_the_glossary(messages: list[str]) -> None:
    assert len(messages) > 500
    assert not_allowed(MESSAGES, "\n".join(messages)) == []


def test_every_exception_to_the_glossary_is_still_needed() -> None:
    needed = {
        (place_of(path), misuse.word) for path in TEXTS for misuse in misuses_in(text_of(path))
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
def test_the_search_finds_a_ruled_out_word_in_any_case_and_plural(text: str) -> None:
    assert misuses(text, WORDS) == [Misuse(1, "bandwidth", "throughput")]


@pytest.mark.parametrize("text", ["packet size", "Packet sizes", "packet-size", "packet\nsize"])
def test_the_search_finds_a_ruled_out_word_with_spaces_hyphens_or_line_breaks(text: str) -> None:
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
def test_the_search_for_ruled_out_words_skips_code_links_and_longer_words(text: str) -> None:
    assert misuses(text, WORDS) == []


def test_the_search_for_ruled_out_words_reports_the_line_and_the_right_term(tmp_path: Path) -> None:
    page = (DOCS / "matrix.md").read_text("utf-8")
    copy = tmp_path / "matrix.md"
    copy.write_text(f"{page}\nEach test case has a data\nrate.\n", "utf-8")
    last = len(page.splitlines()) + 2
    assert not_allowed("docs/matrix.md", copy.read_text("utf-8")) == [
        f"docs/matrix.md:{last}: test case → cell",
        f"docs/matrix.md:{last}: data rate → throughput",
    ]


def test_a_glossary_with_a_repeated_word_or_without_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="no table"):
        forbidden_words("# Glossary\n")
    with pytest.raises(ValueError, match="bandwidth is in the table twice"):
        forbidden_words("| not | but |\n|---|---|\n| bandwidth | a |\n| bandwidth | b |\n")
