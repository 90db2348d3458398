"""What mutmut leaves behind is counted, and sentences are told from arithmetic."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks.truth import mutants

ALTERED = '''
def _mutmut_mutated(variants):
    return lambda function: function

variants: dict = {}

@_mutmut_mutated(variants)
def area(width, height):
    pass

def x_area__mutmut_orig(width: float, height: float = 1.0) -> float:
    """Of a rectangle."""
    if width < 0:
        raise ValueError(f"a width of {width}")
    return width * height

def x_area__mutmut_1(width: float, height: float = 2.0) -> float:
    """Of a rectangle."""
    if width < 0:
        raise ValueError(f"a width of {width}")
    return width * height

def x_area__mutmut_2(width: float, height: float = 1.0) -> float:
    """Of a rectangle."""
    if width <= 0:
        raise ValueError(f"a width of {width}")
    return width * height

def x_area__mutmut_3(width: float, height: float = 1.0) -> float:
    """Of a rectangle."""
    if width < 0:
        raise ValueError(None)
    return width * height

def x_area__mutmut_4(width: float, height: float = 1.0) -> float:
    """Of a rectangle."""
    if width < 0:
        raise ValueError(f"a width of {width}")
    return width / height

class Box:
    def xǁBoxǁname__mutmut_orig(self) -> str:
        return "box"

    def xǁBoxǁname__mutmut_1(self) -> str:
        return "XXboxXX"

    def xǁBoxǁname__mutmut_2(self) -> str:
        return None

    def xǁBoxǁsize__mutmut_orig(self) -> Message:
        return _("{size} bytes", size=self.size)

    def xǁBoxǁsize__mutmut_1(self) -> Message:
        return _("{size} bytes", size=None)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder as mutmut 3 leaves it: an altered room, and how the tests of each mutant ended."""
    room = tmp_path / "netlab" / "findings" / "area.py"
    room.parent.mkdir(parents=True)
    room.write_text(ALTERED)
    statuses = {"x_area__mutmut_1": 0, "x_area__mutmut_2": 1, "x_area__mutmut_3": 0}
    statuses |= {"x_area__mutmut_4": 36, "xǁBoxǁname__mutmut_1": 0, "xǁBoxǁname__mutmut_2": 33}
    statuses["xǁBoxǁsize__mutmut_1"] = 0
    meta = {"exit_code_by_key": {f"netlab.findings.area.{k}": v for k, v in statuses.items()}}
    room.with_name("area.py.meta").write_text(json.dumps(meta))
    return tmp_path


def test_each_mutant_is_read_with_its_outcome_and_whether_it_changes_only_a_text(
    folder: Path,
) -> None:
    (meta,) = folder.rglob("*.meta")
    mutants_by_name = {
        mutant.name.rpartition(".")[2]: mutant for mutant in mutants.mutants_of(meta, folder)
    }
    assert {name: (mutant.fate, mutant.sentence) for name, mutant in mutants_by_name.items()} == {
        "x_area__mutmut_1": ("survived", False),
        "x_area__mutmut_2": ("killed", False),
        "x_area__mutmut_3": ("survived", True),
        "x_area__mutmut_4": ("timeout", False),
        "xǁBoxǁname__mutmut_1": ("survived", True),
        "xǁBoxǁname__mutmut_2": ("survived", False),
        "xǁBoxǁsize__mutmut_1": ("survived", True),
    }
    assert mutants_by_name["x_area__mutmut_2"].change == "if width < 0: → if width <= 0:"
    assert {(mutant.room, mutant.group) for mutant in mutants_by_name.values()} == {
        ("netlab/findings/area.py", "findings")
    }


def test_the_mutation_score_leaves_out_mutants_of_texts_and_counts_a_timeout_as_killed(
    folder: Path,
) -> None:
    (meta,) = folder.rglob("*.meta")
    area_mutants = list(mutants.mutants_of(meta, folder))
    assert mutants.row("area", area_mutants) == ["area", "7", "3", "1", "1", "2", "0", "50.0"]
    with pytest.raises(ValueError, match="no mutants"):
        mutants.score([])


@pytest.mark.parametrize(("survive", "status"), [(0, 0), (3, 0), (4, 1)])
def test_a_mutation_score_below_97_percent_fails_and_each_surviving_mutant_is_printed(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    survive: int,
    status: int,
) -> None:
    """A hundred mutants of one sum; the room's name alone says which group it is of."""
    lines = ["def x_add__mutmut_orig(one: int) -> int:", "    return one + 100"]
    for number in range(100):
        lines += [f"def x_add__mutmut_{number}(one: int) -> int:", f"    return one + {number}"]
    lines += ["@property", "def kept(self): return self.x"]
    lines += ["@classmethod", "def x_over__mutmut_1(cls): return None"]
    room = tmp_path / "netlab" / "area.py"
    room.parent.mkdir()
    room.write_text("\n".join(lines))
    fates = {f"netlab.area.x_add__mutmut_{n}": int(n >= survive) for n in range(100)}
    room.with_name("area.py.meta").write_text(json.dumps({"exit_code_by_key": fates}))
    argv = ["mutants.py", "--folder", str(tmp_path), "--group", "arithmetic"]
    monkeypatch.setattr(sys, "argv", argv)
    assert mutants.main() == status
    output = capsys.readouterr().out
    assert "netlab/area.py: kept\n" in output
    assert output.count("return one + 100 → return one + ") == survive
    assert ("NOT MET" in output) == (status == 1)


def test_counting_mutants_fails_in_a_folder_without_mutants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["mutants.py", "--folder", str(tmp_path)])
    assert mutants.main() == 1
