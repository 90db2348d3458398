"""``--setting`` adds settings to an import that the output of the tool does not state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from netlab.cli import cli
from netlab.errors import UsageError
from netlab.findings.analysis import load
from netlab.imports import iperf3, sockperf

SAMPLES = Path(__file__).parent / "samples"
PING_PONG = SAMPLES / "sockperf" / "sockperf-pp-udp.txt"


def imported(tmp_path: Path, read: Any, file: Path, **settings: str) -> Any:
    return load(read((file,), tmp_path / "run", settings=settings))


def test_a_setting_that_the_tools_output_lacks_can_be_stated_for_the_import(tmp_path: Path) -> None:
    (record,) = imported(tmp_path, sockperf.IMPORTER.read, PING_PONG, message_bytes="64").records
    assert record.settings["message_bytes"] == 64


def test_an_import_with_another_stated_setting_into_the_same_folder_is_refused(
    tmp_path: Path,
) -> None:
    imported(tmp_path, sockperf.IMPORTER.read, PING_PONG)
    with pytest.raises(UsageError, match="run"):
        imported(tmp_path, sockperf.IMPORTER.read, PING_PONG, message_bytes="64")


def test_a_stated_setting_that_contradicts_the_tools_output_is_refused(tmp_path: Path) -> None:
    file = SAMPLES / "iperf3" / "iperf3-udp-over.client.json"
    sentence = "iperf3-udp-over.client.json states message_bytes 1472; --setting states 64"
    with pytest.raises(UsageError, match=sentence):
        imported(tmp_path, iperf3.IMPORTER.read, file, message_bytes="64")
    imported(tmp_path, iperf3.IMPORTER.read, file, message_bytes="1472")


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("message_bytes", "-1", "--setting message_bytes: '-1' is not a plain number"),
        ("direction", "client-sends", "no test of the output has this setting"),
    ],
)
def test_a_wrong_value_of_a_stated_setting_is_refused(
    tmp_path: Path, name: str, text: str, sentence: str
) -> None:
    with pytest.raises(UsageError, match=sentence):
        imported(tmp_path, sockperf.IMPORTER.read, PING_PONG, **{name: text})


@pytest.mark.parametrize(
    ("word", "sentence"),
    [
        ("message_bytes", "is not SETTING=VALUE, such as message_bytes=1472"),
        ("message_byte=64", "no setting is called message_byte; did you mean `message_bytes`?"),
        (
            "protocol=TCP",
            "the protocol cannot be given here: netlab reads it from the tool's output",
        ),
    ],
)
def test_netlab_import_refuses_a_malformed_or_unknown_setting(
    tmp_path: Path, word: str, sentence: str
) -> None:
    words = ["import", "sockperf", str(PING_PONG), "--into", str(tmp_path / "run")]
    outcome = CliRunner().invoke(cli, [*words, "--setting", word])
    assert isinstance(outcome.exception, UsageError)
    assert str(outcome.exception).startswith("--setting: ")
    assert sentence in str(outcome.exception)


def test_netlab_import_accepts_the_same_setting_twice(tmp_path: Path) -> None:
    words = ["import", "sockperf", str(PING_PONG), "--into", str(tmp_path / "run")]
    outcome = CliRunner().invoke(cli, [*words, *2 * ["--setting", "message_bytes=64"]])
    assert outcome.exit_code == 0, outcome.output
