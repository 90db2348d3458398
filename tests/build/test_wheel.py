"""A wheel made here and installed where there is no compiler measures, for every system."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from folders import PROBES, ROOT
from installs import done, install

from netlab.build import binaries
from netlab.build.binaries import TARGETS, Sources

NEEDED = ("netlab", "matrices", "Makefile", "pyproject.toml", "README.md", "LICENSE", ".ci", "docs")

pytestmark = [
    pytest.mark.night,
    pytest.mark.needs("zig", "cc"),
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made by ``make wheel`` in a copy of the checkout, with the probes that were built already."""
    copy = tmp_path_factory.mktemp("checkout")
    skip = shutil.ignore_patterns("__pycache__", "made", "objects", "cross", "making-*", ".[0-9]*")
    for name in NEEDED:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, copy / name, ignore=skip)
        else:
            shutil.copy(path, copy / name)
    shutil.copytree(ROOT / "probes", copy / "probes", ignore=skip)
    # This environment, taken as set up: its stamp is not looked at.
    stamp = f"{sys.prefix}/cross"
    done(["make", "-C", str(copy), f"VENV={sys.prefix}", "-o", stamp, "wheel"])
    # What was built is the checkout's as well: the next time it is there. What was there stays
    # untouched, because tests beside this one run it.
    for target in TARGETS:
        there = ROOT / "probes" / "build" / target.name
        for built in (copy / "probes" / "build" / target.name).iterdir():
            if not (there / built.name).exists():
                shutil.copytree(built, there / f"making-{built.name}", dirs_exist_ok=True)
                (there / f"making-{built.name}").rename(there / built.name)
    (wheel_file,) = (copy / "dist").glob("*.whl")
    return wheel_file


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with nothing but the wheel in it, and the libraries of this one beside it."""
    return install(wheel, tmp_path_factory.mktemp("installed"))


def without_programs(folder: Path) -> dict[str, str]:
    """Surroundings in which no program is found: no compiler, no make."""
    nothing = folder / "nothing"
    nothing.mkdir()
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**variables, "PATH": str(nothing), "HOME": str(folder), "XDG_CACHE_HOME": str(folder)}


def test_the_wheel_contains_each_probe_and_data_file(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        carried = set(archive.namelist())
        rights = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    probes = {f"netlab/probes/{target.name}/{target.file_name}" for target in TARGETS}
    assert {name for name in carried if name.startswith("netlab/probes/")} == probes
    assert all(rights[probe] & 0o111 for probe in probes)
    data = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "netlab").rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert "netlab/matrix.schema.json" in data
    assert data <= carried
    assert wheel.name.endswith("-py3-none-any.whl")


def test_an_installed_wheel_measures_the_loopback_matrix_without_a_compiler(
    installed: Path, tmp_path: Path
) -> None:
    netlab = str(installed / "bin" / "netlab")
    matrix = tmp_path / "loopback.yaml"
    shutil.copy(ROOT / "matrices" / "loopback.yaml", matrix)
    around = without_programs(tmp_path)
    # Other tests on this machine may be measuring.
    words = ["run", str(matrix), "--into", "measured", "--json", "--wait", "120"]
    output = done([netlab, *words], cwd=tmp_path, env=around)
    # A trial that something disturbed is measured again: its last record counts.
    *lines, answer = map(json.loads, output.splitlines())
    assert answer["type"] == "answer"
    states = {(line["cell"], line["trial"]): line["status"] for line in lines}
    assert [*states.values()] == ["ok"] * 12
    assert (tmp_path / "measured" / "index.html").is_file()


def test_an_installed_wheel_finds_the_probe_of_each_system(
    installed: Path, wheel: Path, tmp_path: Path
) -> None:
    template = "from netlab.build.binaries import probe_for; print(probe_for({!r}, {!r}))"
    around = without_programs(tmp_path)
    for target in TARGETS:
        script = template.format(target.os, target.architecture)
        python = str(installed / "bin" / "python")
        path = Path(done([python, "-c", script], cwd=tmp_path, env=around).strip())
        assert path.is_relative_to(installed)
        with ZipFile(wheel) as archive:
            carried = archive.read(f"netlab/probes/{target.name}/{target.file_name}")
        assert path.read_bytes() == carried


def test_a_checkout_builds_the_probe_from_its_sources() -> None:
    assert binaries.sources() == Sources.of_checkout(PROBES)
    assert not binaries.PACKAGED.exists()
