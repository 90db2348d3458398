"""What a machine lacks is named, with the command that brings it: once, in one line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from folders import ROOT
from installs import WAIT_S, around, install

pytestmark = [pytest.mark.lab, pytest.mark.needs("cc")]

COMPILERS = ("cc", "gcc", "clang", "c99", "c89", "tcc")
LACKING = {
    "make": (("make",), "sudo apt-get install make"),
    "compiler": (COMPILERS, "apt-get install gcc libc6-dev"),
    "headers": (COMPILERS, "sudo apt-get install libc6-dev"),
}


@pytest.fixture(scope="module")
def installed(small_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(small_wheel, tmp_path_factory.mktemp("installed"))


def programs_but(folder: Path, *left_out: str) -> Path:
    """A folder with all that PATH has, without some."""
    folder.mkdir()
    for place in reversed(os.get_exec_path()):
        for program in Path(place).glob("*"):
            if program.name not in left_out:
                link = folder / program.name
                link.unlink(missing_ok=True)
                link.symlink_to(program)
    return folder


def ended(argv: list[str], folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    surroundings = {name: value for name, value in around(folder).items() if name != "CC"}
    return subprocess.run(
        argv,
        cwd=folder,
        env=surroundings | more,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    "lacking",
    [
        name if name == "compiler" else pytest.param(name, marks=pytest.mark.night)
        for name in LACKING
    ],
)
def test_a_missing_build_tool_is_named_with_the_command_to_install(
    lacking: str, installed: Path, tmp_path: Path
) -> None:
    left_out, command = LACKING[lacking]
    programs = programs_but(tmp_path / "programs", *left_out)
    if lacking == "headers":  # a real compiler that looks for no header but its own
        compiler = shutil.which("gcc") or shutil.which("clang")
        for name in ("cc", "gcc"):
            (programs / name).unlink(missing_ok=True)
            (programs / name).write_text(f'#!/bin/sh\nexec {compiler} -nostdinc "$@"\n')
            (programs / name).chmod(0o755)
    process = ended([str(installed / "bin" / "netlab"), "measure"], tmp_path, PATH=str(programs))
    assert process.returncode == 2
    last = process.stderr.splitlines()[-1]
    assert command in last
    assert "dnf install" in last
    assert "Traceback" not in process.stderr


@pytest.mark.parametrize(
    ("module_name", "command"),
    [
        ("ensurepip", "sudo apt-get install python3-venv"),
        ("venv", "sudo apt-get install python3-venv"),
    ],
)
def test_set_up_names_a_python_without_venv(module_name: str, command: str, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / f"{module_name}.py").write_text("raise ImportError('not installed')\n")
    words = [str(ROOT / ".ci" / "set-up"), str(tmp_path / "venv"), "."]
    process = ended(words, tmp_path, PYTHON=sys.executable, PYTHONPATH=str(tmp_path / "lib"))
    assert process.returncode == 1
    assert command in process.stderr
    assert len(process.stderr.splitlines()) == 1
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize(
    ("left_out", "command"),
    [
        (("python3",), "sudo apt-get install python3"),
        (COMPILERS, "sudo apt-get install gcc libc6-dev"),
    ],
)
def test_set_up_names_a_missing_program(
    left_out: tuple[str, ...], command: str, tmp_path: Path
) -> None:
    programs = programs_but(tmp_path / "programs", *left_out)
    words = [str(ROOT / ".ci" / "set-up"), str(tmp_path / "venv"), "."]
    process = ended([shutil.which("sh") or "sh", *words], tmp_path, PATH=str(programs))
    assert process.returncode == 1
    assert command in process.stderr
    assert len(process.stderr.splitlines()) == 1
