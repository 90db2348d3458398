"""One spelling of each option and argument over all commands, and one way to say how much."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from command_line import netlab
from folders import ROOT

from netlab.cli import cli

TWO_MEANINGS = {
    "--rate": "of the cable where a lab is made; what is offered where it is measured, as in a "
    "matrix, where the cable's is `link`",
}
"""Options that two commands have for two things, and why."""

SPELLINGS = (
    {"--json", "--as-json"},
    {"--output", "--out", "--to-file"},
    {"--into", "--folder", "--dir", "--directory"},
    {"--hosts", "--inventory"},
    {"--lang", "--language", "--locale"},
    {"--quiet", "--silent"},
    {"--link", "--link-rate", "--line-rate"},
    {"--number", "--count"},
)
"""Words for one thing, of which no more than one may be in use."""


def commands(
    group: click.Group = cli, path: tuple[str, ...] = ("netlab",)
) -> Iterator[tuple[str, click.Command]]:
    """Every command by its words, groups as well."""
    yield " ".join(path), group
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def options() -> dict[str, dict[str, click.Option]]:
    """Name of an option → command → what it is there."""
    options_by_name: dict[str, dict[str, click.Option]] = defaultdict(dict)
    for words, command in commands():
        for param in command.params:
            if isinstance(param, click.Option):
                for name in (*param.opts, *param.secondary_opts):
                    options_by_name[name][words] = param
    return options_by_name


def said_of(option: click.Option) -> tuple[object, ...]:
    """What has to agree: name in the code, what it takes, its help without the default."""
    kind = option.type
    # What is chosen from is the command's own.
    takes = type(kind).__name__ if isinstance(kind, click.Choice) else repr(kind)
    help_ = re.sub(r"  \[default: .*\]$", "", option.help or "")
    return option.opts, option.secondary_opts, takes, option.metavar, option.is_flag, help_


@pytest.mark.parametrize("name", sorted({*options()} - {*TWO_MEANINGS}))
def test_an_option_has_one_type_and_one_help_text_in_all_commands(name: str) -> None:
    commands_by_description: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for words, option in options()[name].items():
        commands_by_description[tuple(map(str, said_of(option)))].append(words)
    assert len(commands_by_description) == 1, commands_by_description


def test_every_option_has_a_help_text() -> None:
    silent = [
        f"{words} {option.opts[0]}"
        for of_commands in options().values()
        for words, option in of_commands.items()
        if not option.help
    ]
    assert silent == []


def test_no_two_options_are_spellings_of_one_word() -> None:
    names = {*options()}
    assert [spellings for spellings in SPELLINGS if len(spellings & names) > 1] == []
    assert all(len(options()[name]) > 1 for name in TWO_MEANINGS)


def test_the_format_option_offers_more_than_two_formats() -> None:
    for words, option in options()["--format"].items():
        assert isinstance(option.type, click.Choice)
        assert len(option.type.choices) > 2, words
        assert words not in options()["--json"], words


def test_the_folder_of_a_run_is_called_run_in_every_command() -> None:
    metavars_by_command = {
        words: [argument.make_metavar(click.Context(command)).strip("[]") for argument in arguments]
        for words, command in commands()
        if (arguments := [param for param in command.params if isinstance(param, click.Argument)])
    }
    takes_run = {words for words, metavars in metavars_by_command.items() if "RUN" in metavars}
    assert takes_run == {
        f"netlab {name}"
        for name in ("resume", "status", "report", "export", "compare", "check", "effects")
    }
    assert not any("FOLDER" in metavars for metavars in metavars_by_command.values())


def test_quiet_and_verbose_exclude_each_other(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(cli, ["report", str(tmp_path), "-q", "-v"])
    assert outcome.exit_code == 2
    assert "exclude each other" in outcome.output
    for words, command in commands():
        names = {name for param in command.params for name in param.opts}
        assert ("--quiet" in names) == ("-q" in names), words
        assert ("--verbose" in names) <= ("--quiet" in names), words


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("measure --time 5", "No such option '--time'; did you mean --seconds?"),
        ("measure --bandwidth 1M", "No such option '--bandwidth'; did you mean --rate?"),
        ("measure --parallel 4", "No such option '--parallel'; did you mean --streams?"),
        ("run m.yaml --duration 5", "No such option '--duration'; did you mean --set duration=…?"),
        (
            "measure --protocol sctp",
            "No such option '--protocol': TCP is the default, --udp is UDP; no SCTP, MPTCP or QUIC",
        ),
        ("measure --mptcp", "TCP is the default, --udp is UDP; no SCTP, MPTCP or QUIC"),
        # No word of another tool: click's own answer.
        ("measure --secnds 5", "'--seconds'"),
        ("check --buffer run", "No such option '--buffer'."),
    ],
)
def test_an_option_of_another_tool_is_answered_with_the_option_that_is_meant(
    tmp_path: Path, words: str, answer: str
) -> None:
    outcome = netlab(tmp_path, *words.split())
    assert outcome.returncode == 2
    assert answer in outcome.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "words",
    [
        ("check", "{run}", "--baseline", "{run}", "--json"),
        ("compare", "{run}", "--by", "pairing", "--format", "csv"),
        ("export", "{run}"),
        ("history", "{run}", "--format", "csv"),
        ("report", "{run}", "--json"),
    ],
    ids=lambda words: words[0],
)
def test_a_dash_as_output_file_is_standard_output_in_every_command(words: tuple[str, ...]) -> None:
    run = str(ROOT / "reports" / "lab-report")
    arguments = [word.format(run=run) for word in words]
    bare = CliRunner().invoke(cli, arguments)
    dashed = CliRunner().invoke(cli, [*arguments, "-o", "-"])
    assert bare.stdout_bytes
    assert dashed.stdout_bytes == bare.stdout_bytes
    assert dashed.exit_code == bare.exit_code
    assert set(options()["-o"]) == {
        f"netlab {name}" for name in ("check", "compare", "export", "history", "report")
    }
