"""Messages about wrong input: the fault, its place and what to do. Never a traceback."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from netlab.cli import cli
from netlab.errors import NetlabError
from netlab.lab import state

RIGHT = """\
title: t
hosts:
  a: {local: true}
  bbb: {local: true}
pairings: [LL]
tests: [{test: stream, protocol: TCP, message_size: 64, duration: 100ms}]
"""
INVENTORY = "hosts:\n  a: {os: L, ssh: x@192.0.2.1, addresses: {test: 10.0.0.1}}\n"
PLAN = ("plan", "m.yaml")
USAGE, STORE, INCOMPLETE = 2, 1, 3


def said_to(folder: Path, text: str, *words: str) -> tuple[int, str]:
    """Exit code and message of a command, with ``text`` as ``m.yaml`` in the folder."""
    (folder / "m.yaml").write_text(text, encoding="utf-8")
    (folder / "i.yaml").write_text(INVENTORY)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(state, "ROOT", folder / "labs")  # this machine may have a lab of its own
        outcome = CliRunner().invoke(cli, [*words])
    error = outcome.exception
    if isinstance(error, NetlabError):
        return error.exit_code, str(error)
    assert error is None or isinstance(error, SystemExit), repr(error)
    return outcome.exit_code, outcome.output


def changed(old: str, new: str) -> str:
    assert old in RIGHT
    return RIGHT.replace(old, new)


SEARCH = "throughput_search, protocol: UDP, frame_size: 1518}]\nlink: {rate: 1Gbit, mtu: 100}\n"
TEST = "test: stream, protocol: TCP, message_size: 64, duration: 100ms}]\n"
CASES: dict[str, tuple[str, tuple[str, ...], int, str]] = {
    "no such system": (
        changed("[LL]", "[LQ]"),
        PLAN,
        USAGE,
        r"m\.yaml:5:12: pairings\[0\]: `LQ`: Q is not a system; there are L Linux, W Windows",
    ),
    "a pairing in place of a list": (
        changed("[LL]", "LL"),
        PLAN,
        USAGE,
        r"m\.yaml:5:11: pairings: should be a list: \[LL\]$",
    ),
    "no tests": (
        RIGHT[: RIGHT.index("tests:")],
        PLAN,
        USAGE,
        r"^m\.yaml:1:1: tests: the key is missing$",
    ),
    "a host that is not there": (
        changed("[LL]", "[a+bb]"),
        PLAN,
        USAGE,
        r"m\.yaml:5:12: .* no host of m\.yaml is called `bb`; did you mean `bbb`\?$",
    ),
    "a host that should look on": (
        RIGHT + "observe: [ruter]\n",
        PLAN,
        USAGE,
        r"m\.yaml:7:11: observe\[0\]: no host .* `ruter`; there are a, bbb$",
    ),
    "a host among those between": (
        changed("[LL]", "{between: [a, x]}"),
        PLAN,
        USAGE,
        r"m\.yaml:5:25: pairings\.between\[1\]: no host of m\.yaml is called `x`",
    ),
    "a network that is not there": (
        changed("[LL]", "[a@lopback+bbb]"),
        PLAN,
        USAGE,
        r"m\.yaml:5:12: .*a has no address in `lopback`; did you mean `loopback`\?$",
    ),
    "two kinds of test in one": (
        changed("test: stream", "test: [stream, connect]"),
        PLAN,
        USAGE,
        r"m\.yaml:6:16: tests\[0\]\.test: .* is not one of stream, round_trip",
    ),
    "frames that the link does not carry": (
        changed(TEST, f"test: {SEARCH}"),
        PLAN,
        USAGE,
        r"m\.yaml:6:\d+: .*1518 bytes do not fit the link's mtu of 100 \(line 7\): at most 118",
    ),
    "a list that is not closed": (
        changed("[LL]", "[LL"),
        PLAN,
        USAGE,
        r"m\.yaml:5:11: `\[` is not closed; netlab noticed this in line 6, column 6$",
    ),
    "a quote that is not closed": (
        changed("title: t", "title: 't"),
        PLAN,
        USAGE,
        r"m\.yaml:1:8: `'` is not closed; netlab noticed this in line 7",
    ),
    "no space after a colon": (
        RIGHT + "defaults:\n  duration:10s\n  warm_up: 1s\n",
        PLAN,
        USAGE,
        r"m\.yaml:8:12: a space is missing after the colon of `duration:`$",
    ),
    "a no-break space": (
        changed("pairings: ", "pairings:\u00a0"),
        PLAN,
        USAGE,
        r"m\.yaml:5:10: there is a no-break space \(U\+00A0\) here; write a plain space$",
    ),
    "a unit of bits for a size": (
        RIGHT + "defaults: {socket_buffer: 100 mb}\n",
        PLAN,
        USAGE,
        r"m\.yaml:7:27: .*'100 mb' is not a size: write 100MB \(bytes\) or 100Mbit$",
    ),
    "a word in quotes for a truth": (
        RIGHT + 'parallel: "true"\n',
        PLAN,
        USAGE,
        r"m\.yaml:7:11: parallel: `true` in quotes is text: write it without the quotes$",
    ),
    "a number beyond all": (
        RIGHT + "repeats: 1e400\n",
        PLAN,
        USAGE,
        r"^m\.yaml:7:10: repeats: 1e400 is too large a number$",
    ),
    "a number of 5,000 digits": (
        RIGHT + f"seed: {'7' * 5000}\n",
        PLAN,
        USAGE,
        r"^m\.yaml:7:7: seed: a number of 5000 characters is too long$",
    ),
    "an inventory for a matrix": (
        RIGHT,
        ("plan", "i.yaml"),
        USAGE,
        r"^i\.yaml is an inventory: name a matrix, and give this file with --hosts$",
    ),
    "a matrix for an inventory": (
        "title: t\npairings: [LL]\ntests: []\n",
        ("hosts", "m.yaml"),
        USAGE,
        r"^m\.yaml is a matrix and has no `hosts:`; name the inventory with --hosts FILE",
    ),
    "nothing that can be measured": (
        changed("[LL]", "[WW]"),
        PLAN,
        USAGE,
        r"^m\.yaml: no cell can be measured: WW needs a Windows host$",
    ),
    "a password": (
        "hosts:\n  a: {os: L, ssh: x@y, password: z, addresses: {t: 10.0.0.1}}\n",
        ("hosts", "m.yaml"),
        USAGE,
        r"an inventory must not contain a password: use ssh-agent, or name a key file "
        r"\(identity:\)$",
    ),
    "a host without addresses": (
        "hosts:\n  a: {os: L, ssh: x@y}\n",
        ("hosts", "m.yaml"),
        USAGE,
        r"for example `addresses: \{test: 10\.0\.0\.1\}`; `netlab init` finds them$",
    ),
    "--only without a match": (
        RIGHT,
        (*PLAN, "--only", "sream"),
        USAGE,
        r"--only sream: .* no such pairing or test; did you mean `stream`\?",
    ),
    "a time that is none": (
        RIGHT,
        ("run", "m.yaml", "--wait", "10 parsecs"),
        USAGE,
        r"--wait.*10 parsecs.* is not a time, such as 10s, 500ms or 2min",
    ),
    "a folder that is no run": (RIGHT, ("report", "."), USAGE, r"not a run folder"),
    "a lab of no host": (
        RIGHT,
        ("lab", "up", "--number", "0"),
        USAGE,
        r"^--number 0: a lab has 2 to 60 hosts$",
    ),
    "a lab that is not up": (
        RIGHT,
        ("lab", "status", "--name", "nolab"),
        INCOMPLETE,
        r"^lab nolab: not up\n$",
    ),
    "no host to begin with": (RIGHT, ("init",), USAGE, r"^name a HOST, as for ssh"),
    "--both of round trips": (
        RIGHT,
        ("measure", "--latency", "--both"),
        USAGE,
        r"^--both is for throughput: it does not go with --latency$",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_each_kind_of_wrong_input_has_its_own_message_and_exit_code(
    tmp_path: Path, case: str
) -> None:
    text, words, code, pattern = CASES[case]
    exit_code, message = said_to(tmp_path, text, *words)
    assert re.search(pattern, message), message
    assert exit_code == code


@pytest.mark.lab
def test_a_congestion_control_that_no_host_has_leaves_no_cell_to_measure(tmp_path: Path) -> None:
    text = changed("message_size: 64", "message_size: 64, congestion: cubik")
    exit_code, message = said_to(tmp_path, text, *PLAN, "--hosts", "m.yaml")
    assert "no cell can be measured" in message
    assert exit_code == USAGE


def test_a_correct_matrix_is_accepted(tmp_path: Path) -> None:
    assert said_to(tmp_path, RIGHT, *PLAN)[0] == 0


@pytest.mark.parametrize("sign", ["\u2028", "\u2029", "\x85"])
def test_a_unicode_line_separator_in_a_matrix_does_not_end_a_line(
    tmp_path: Path, sign: str
) -> None:
    code, message = said_to(
        tmp_path, changed("title: t", f"title: a{sign}b # c\nrepeats: 2"), *PLAN
    )
    assert code == 0
    assert "1 cell x 2 trials" in message


def test_an_export_writes_its_file_or_reports_the_missing_folder(tmp_path: Path) -> None:
    from netlab.cli.output import write_output
    from netlab.errors import StoreError

    with pytest.raises(StoreError, match=r"--output /no/such/x\.csv: the folder /no/such does not"):
        write_output(Path("/no/such/x.csv"), b"")
    write_output(tmp_path / "x.csv", b"1\n")
    assert (tmp_path / "x.csv").read_bytes() == b"1\n"


@pytest.mark.parametrize("word", ["L", "Linux", "linux", "LINUX"])
def test_the_system_of_a_host_may_be_a_letter_or_a_name_in_any_case(
    tmp_path: Path, word: str
) -> None:
    from netlab.config.inventory import load_inventory

    file = tmp_path / "i.yaml"
    file.write_text(INVENTORY.replace("os: L", f"os: {word}"))
    assert load_inventory(file).hosts[0].os == "L"
