"""The page for users of other tools names only keys and options that exist."""

from __future__ import annotations

import re
from pathlib import Path

from folders import ROOT

from netlab.cli import cli
from netlab.config.matrix_file import load_matrix

TEXT = (ROOT / "docs" / "how-to" / "coming-from.md").read_text()


def test_the_page_for_users_of_other_tools_names_only_options_of_measure() -> None:
    options = {name for param in cli.commands["measure"].params for name in param.opts}
    rows = [line.split(" | ") for line in TEXT.splitlines() if line.startswith("| ")]
    option_names = {word for row in rows[1:] for word in re.findall(r"--[a-z0-9]+", row[1])}
    assert option_names - {"--format", "--json"} <= options
    assert len(option_names) > 8


def test_the_settings_on_the_page_for_users_of_other_tools_make_a_valid_matrix(
    tmp_path: Path,
) -> None:
    keys = dict(re.findall(r"`([a-z_]+): ([^`\[{]+)`", TEXT))
    settings = {name: value for name, value in keys.items() if name not in ("test", "protocol")}
    of_stream = {
        *("duration", "warm_up", "message_size", "streams", "ip", "socket_buffer", "congestion"),
        *("nodelay", "dscp", "client_cpu", "server_cpu", "direction"),
    }
    lines = {
        "stream": {name: settings[name] for name in of_stream if name in settings},
        "round_trip": {name: settings[name] for name in ("response_size", "outstanding")},
    }
    tests = "".join(
        f"  - {{test: {test}, protocol: TCP, "
        + ", ".join(
            f"{key}: {value}" for key, value in ({"message_size": 64} | test_settings).items()
        )
        + "}\n"
        for test, test_settings in lines.items()
    )
    until = re.findall(r"`(until: \{[^`]+\})`", TEXT)[0]
    file = tmp_path / "m.yaml"
    file.write_text(f"title: t\npairings: [LL]\n{until}\ntests:\n{tests}")
    assert len(load_matrix(file).grids) == 2
