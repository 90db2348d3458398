"""netlab installed from its checkout, or from an sdist of it, measures where a compiler is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from folders import MATRICES, PROBES, ROOT
from installs import WAIT_S, done, install

from netlab.build.into_package import LAID
from netlab.build.make import sources_of

NEEDED = ("netlab", "matrices", "pyproject.toml", "README.md", "LICENSE")

pytestmark = pytest.mark.needs("cc")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy in which nothing was built."""
    copy = tmp_path_factory.mktemp("checkout")
    skip = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    kept = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in NEEDED:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, copy / name, ignore=kept)
        else:
            shutil.copy(path, copy / name)
    shutil.copytree(PROBES, copy / "probes", ignore=skip)
    return copy


@pytest.fixture(scope="module")
def sdist(checkout: Path) -> Path:
    script = "from setuptools import build_meta; print(build_meta.build_sdist('dist'))"
    name = done([sys.executable, "-c", script], cwd=checkout).splitlines()[-1]
    return checkout / "dist" / name


@pytest.fixture(scope="module", params=["checkout", "sdist"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    what, folder = request.getfixturevalue(request.param), tmp_path_factory.mktemp("installed")
    return install(what, folder, "--no-build-isolation")  # what builds it is in this environment


def around(folder: Path, **more: str) -> dict[str, str]:
    """A newcomer's surroundings: an empty home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    (folder / "home").mkdir(exist_ok=True)
    return {**kept, "HOME": str(folder / "home"), "XDG_CACHE_HOME": "", **more}


def test_every_source_and_every_matrix_is_laid_into_the_package(installed: Path) -> None:
    (package,) = installed.glob("lib/python*/site-packages/netlab")
    laid, here = package / "probes" / "source", PROBES
    names = [path.relative_to(here) for path in sources_of(here) if path.is_relative_to(here)]
    assert [(laid / name).read_bytes() for name in names] == [
        (here / name).read_bytes() for name in names
    ]
    shipped = {path.name for path in (package / "matrices").iterdir()}
    assert shipped == {path.name for path in MATRICES.glob("*.yaml")}
    assert {place.removeprefix("netlab/").split("/")[0] for place in LAID} == {"probes", "matrices"}


def test_a_matrix_is_measured_by_its_name_with_a_probe_that_is_built_once(
    installed: Path, tmp_path: Path
) -> None:
    netlab, surroundings = str(installed / "bin" / "netlab"), around(tmp_path)
    for into in ("first", "second"):
        words = ["run", "loopback", "--into", into, "--json", "--wait", "120", "--no-report"]
        said = done([netlab, *words], cwd=tmp_path, env=surroundings)
        records = [json.loads(line) for line in said.splitlines()]
        # A trial that another load interrupted is there once more, measured again.
        assert {each["status"] for each in records} == {"ok"}
        assert len({(each["cell"], each["trial"]) for each in records}) == 12
    cache = tmp_path / "home" / ".cache" / "netlab" / "probes"
    (probe,) = cache.glob("*/netprobe")
    assert probe.parent.stat().st_mode & 0o077 == 0
    (package,) = installed.glob("lib/python*/site-packages/netlab")
    assert not (package / "probes" / "source" / "build").exists()


def test_what_is_missing_is_named_with_the_command_that_brings_it(
    installed: Path, tmp_path: Path
) -> None:
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    ended = subprocess.run(
        [str(installed / "bin" / "netlab"), "run", "loopback", "--into", "measured"],
        cwd=tmp_path,
        env=around(tmp_path, PATH=str(nothing)),
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
    )
    assert "sudo apt-get install make" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_an_sdist_has_what_the_checkout_has(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {
        str(path.relative_to(ROOT)) for path in (*sources_of(PROBES), *MATRICES.glob("*.yaml"))
    }
    assert wanted <= names
    assert not any("/build/" in name for name in names if name.startswith("probes"))
