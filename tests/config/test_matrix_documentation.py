"""The documentation of matrix files agrees with the code."""

from __future__ import annotations

import re
from typing import Any

import pytest
from folders import ROOT
from made_matrices import load

from netlab.config.models import MatrixFile
from netlab.config.settings import SETTINGS
from netlab.experiment.matrix import expand
from netlab.kinds import FIELDS

__all__ = ["load"]


TEXT = (ROOT / "docs" / "matrix.md").read_text(encoding="utf-8")


def test_the_matrix_documentation_states_which_kinds_of_test_take_each_setting() -> None:
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| ([srcptl]+) \|", TEXT, re.M)
    stated = [(name, kinds) for names, kinds in rows for name in re.findall(r"\w+", names)]
    assert len(dict(stated)) == len(stated)
    letters = {"stream": "s", "round_trip": "r", "connect": "c", "payload_search": "p"}
    letters |= {"throughput_search": "t", "latency_under_load": "l"}
    setting_letters = {
        setting.name: "".join(
            letter for test, letter in letters.items() if setting.field in FIELDS[test]
        )
        for setting in SETTINGS
    }
    assert dict(stated) == setting_letters


def test_the_matrix_documentation_names_every_section_and_every_shipped_matrix() -> None:
    parts = [
        name
        for names in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", TEXT, re.M)
        for name in re.findall(r"`(\w+)`", names)
    ]
    assert MatrixFile.model_fields.keys() <= {*parts}
    shipped = {path.name for path in (ROOT / "matrices").glob("*.yaml")}
    assert set(re.findall(r"^\| `([\w-]+\.yaml)` \|", TEXT, re.M)) == shipped


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", TEXT, re.S))
def test_every_matrix_in_the_matrix_documentation_loads(text: str, load: Any) -> None:
    matrix = load(text)
    assert expand(matrix)
