"""An importer is one module: netlab finds it, makes a command of it, and checks what it writes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import netlab.imports
from netlab.cli import cli
from netlab.errors import UsageError
from netlab.imports import importer, importer_names
from netlab.imports.common.csv_table import cell_of, read_source, record_of, write_run

MODULE = """
from pathlib import Path

from netlab.imports import CommandOption, Importer
from netlab.imports.common.csv_table import cell_of, read_source, record_of, write_run


def _read(table: Path, into: Path, *, systems: str, **known) -> Path:
    cell = cell_of(systems, "stream", {"protocol": "TCP"}, ["tcp"])
    values = {"throughput_bit_per_s": float(table.read_text())}
    source = read_source(table, **known)
    return write_run(into, source, [cell], [record_of(cell, values, printed="1")], content={})


IMPORTER = Importer(
    help="Make a run folder out of one number.",
    read=_read,
    options=(CommandOption("systems", "--systems", "Of the hosts.", default="LL"),),
)
"""


def test_a_new_module_of_importers_becomes_a_command_of_netlab_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one_number.py").write_text(MODULE)
    monkeypatch.setattr(netlab.imports, "__path__", [*netlab.imports.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, "netlab.imports.one_number", raising=False)
    (tmp_path / "table.txt").write_text("9.5e7\n")
    help_text = CliRunner().invoke(cli, ["import", "--help"]).output
    assert "one_number  Make a run folder out of one number." in help_text
    words = ["import", "one_number", str(tmp_path / "table.txt"), "--into", str(tmp_path / "run")]
    outcome = CliRunner().invoke(cli, [*words, "--systems", "WL"], catch_exceptions=False)
    assert outcome.exit_code == 0, outcome.output
    assert "Linux to Windows" in outcome.output
    sys.modules.pop("netlab.imports.one_number")


def test_netlab_import_has_a_command_for_each_importer_and_for_nothing_else() -> None:
    assert importer_names() == sorted(
        [
            *("flent", "iperf2", "iperf3", "neper", "netperf", "ntttcp", "nuttcp"),
            *("pairs", "repeats", "sockperf", "table"),
        ]
    )
    assert CliRunner().invoke(cli, ["import", "csv_table"], standalone_mode=False).exit_code != 0
    assert all(importer(name).help for name in importer_names())


@pytest.mark.parametrize(
    ("word", "fault"), [("pc", "'pc' is not NAME=HOST"), ("pc=a,,b", "'pc=a,,b' is not NAME=HOST")]
)
def test_a_malformed_machine_option_of_netlab_import_is_refused(word: str, fault: str) -> None:
    outcome = CliRunner().invoke(cli, ["import", "pairs", "t.csv", "--machine", word])
    assert isinstance(outcome.exception, UsageError)
    assert f"--machine: {fault}" in str(outcome.exception)


@pytest.mark.parametrize(
    ("settings", "values"), [({"speed": 1}, {}), ({}, {"speed": 1}), ({}, {"rtt_mean_ns": 1.0})]
)
def test_a_setting_or_value_without_a_column_is_refused_and_no_run_is_written(
    settings: dict[str, int], values: dict[str, float], tmp_path: Path
) -> None:
    (tmp_path / "table.csv").touch()
    cell = cell_of("LL", "stream", settings, ["tcp"])
    with pytest.raises(ValueError, match=r"no column of netlab\.results\.columns"):
        write_run(
            tmp_path / "run",
            read_source(tmp_path / "table.csv"),
            [cell],
            [record_of(cell, values, printed="1")],
            content={},
        )
    assert not (tmp_path / "run").exists()
