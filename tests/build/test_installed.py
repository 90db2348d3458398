"""netlab installed from its checkout, an sdist or a wheel of it measures where a compiler is."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from folders import MATRICES, PROBES, ROOT
from installs import FIGURE, around, done, install
from readme import commands

from netlab.build.binaries import sources_of
from netlab.build.into_package import LAID

pytestmark = [pytest.mark.lab, pytest.mark.needs("cc")]


ROWS = [
    pytest.param("checkout", marks=pytest.mark.night),
    pytest.param("sdist", marks=pytest.mark.night),
    "small_wheel",
]
"""What netlab is installed from."""


@pytest.fixture(scope="module", params=ROWS)
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    package, folder = request.getfixturevalue(request.param), tmp_path_factory.mktemp("installed")
    return install(package, folder, "--no-build-isolation")  # what builds it is in this environment


def test_an_installed_package_contains_each_source_and_matrix(installed: Path) -> None:
    (package,) = installed.glob("lib/python*/site-packages/netlab")
    laid, source_folder = package / "probes" / "source", PROBES
    names = [
        path.relative_to(source_folder)
        for path in sources_of(source_folder)
        if path.is_relative_to(source_folder)
    ]
    assert [(laid / name).read_bytes() for name in names] == [
        (source_folder / name).read_bytes() for name in names
    ]
    shipped = {path.name for path in (package / "matrices").iterdir()}
    assert shipped == {path.name for path in MATRICES.glob("*.yaml")}
    assert {place.removeprefix("netlab/").split("/")[0] for place in LAID} == {"probes", "matrices"}


@pytest.mark.night
@pytest.mark.parametrize("installed", ["checkout"], indirect=True)
def test_an_installed_netlab_measures_a_matrix_by_name_and_builds_the_probe_once(
    installed: Path, tmp_path: Path
) -> None:
    netlab, surroundings = str(installed / "bin" / "netlab"), around(tmp_path)
    for into in ("first", "second"):
        words = ["run", "loopback", "--into", into, "--json", "--wait", "120", "--no-report"]
        output = done([netlab, *words], cwd=tmp_path, env=surroundings)
        *records, answer = [json.loads(line) for line in output.splitlines()]
        assert answer["type"] == "answer"
        # A trial that another load interrupted is there once more, measured again.
        assert {record["status"] for record in records} == {"ok"}
        assert len({(record["cell"], record["trial"]) for record in records}) == 12
    cache = tmp_path / "home" / ".cache" / "netlab" / "probes"
    (probe,) = cache.glob("*/netprobe")
    assert probe.parent.stat().st_mode & 0o077 == 0
    (package,) = installed.glob("lib/python*/site-packages/netlab")
    assert not (package / "probes" / "source" / "build").exists()


@pytest.mark.parametrize("installed", ROWS[1:], indirect=True)
def test_the_first_command_of_the_readme_measures_this_machine(
    installed: Path, tmp_path: Path
) -> None:
    (command,) = (line for line in commands() if line.startswith(".venv/bin/netlab "))
    words = command.split()[1:]
    assert words == ["measure"]
    netlab = str(installed / "bin" / "netlab")
    output = done([netlab, *words, "--seconds", "0.5"], cwd=tmp_path, env=around(tmp_path))
    assert FIGURE.search(output), output


def test_an_sdist_contains_each_source_and_matrix(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    checkout_names = {
        str(path.relative_to(ROOT)) for path in (*sources_of(PROBES), *MATRICES.glob("*.yaml"))
    }
    assert checkout_names <= names
    assert not any("/build/" in name for name in names if name.startswith("probes"))


def test_the_manual_page_is_installed_where_man_looks(installed: Path) -> None:
    page = installed / "share" / "man" / "man1" / "netlab.1"
    assert page.read_bytes() == (ROOT / "docs" / "man" / "netlab.1").read_bytes()
