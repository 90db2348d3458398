"""netlab installed from its checkout, an sdist or a wheel of it measures where a compiler is."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from folders import MATRICES, PROBES, ROOT
from installs import FIGURE, around, done, install
from readme import commands

from netlab.build.into_package import LAID
from netlab.build.make import sources_of

pytestmark = pytest.mark.needs("cc")


@pytest.fixture(scope="module", params=["checkout", "sdist", "small_wheel"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    package, folder = request.getfixturevalue(request.param), tmp_path_factory.mktemp("installed")
    return install(package, folder, "--no-build-isolation")  # what builds it is in this environment


def test_every_source_and_every_matrix_is_laid_into_the_package(installed: Path) -> None:
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


@pytest.mark.parametrize("installed", ["checkout"], indirect=True)
def test_a_matrix_is_measured_by_its_name_with_a_probe_that_is_built_once(
    installed: Path, tmp_path: Path
) -> None:
    netlab, surroundings = str(installed / "bin" / "netlab"), around(tmp_path)
    for into in ("first", "second"):
        words = ["run", "loopback", "--into", into, "--json", "--wait", "120", "--no-report"]
        output = done([netlab, *words], cwd=tmp_path, env=surroundings)
        records = [json.loads(line) for line in output.splitlines()]
        # A trial that another load interrupted is there once more, measured again.
        assert {record["status"] for record in records} == {"ok"}
        assert len({(record["cell"], record["trial"]) for record in records}) == 12
    cache = tmp_path / "home" / ".cache" / "netlab" / "probes"
    (probe,) = cache.glob("*/netprobe")
    assert probe.parent.stat().st_mode & 0o077 == 0
    (package,) = installed.glob("lib/python*/site-packages/netlab")
    assert not (package / "probes" / "source" / "build").exists()


@pytest.mark.parametrize("installed", ["sdist", "small_wheel"], indirect=True)
def test_the_readme_s_first_command_measures_this_machine_with_itself(
    installed: Path, tmp_path: Path
) -> None:
    (command,) = (line for line in commands() if line.startswith(".venv/bin/netlab "))
    words = command.split()[1:]
    assert words == ["measure"]
    netlab = str(installed / "bin" / "netlab")
    output = done([netlab, *words, "--seconds", "0.5"], cwd=tmp_path, env=around(tmp_path))
    assert FIGURE.search(output), output


def test_an_sdist_has_what_the_checkout_has(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    checkout_names = {
        str(path.relative_to(ROOT)) for path in (*sources_of(PROBES), *MATRICES.glob("*.yaml"))
    }
    assert checkout_names <= names
    assert not any("/build/" in name for name in names if name.startswith("probes"))


def test_the_manual_page_is_where_man_looks_for_it(installed: Path) -> None:
    page = installed / "share" / "man" / "man1" / "netlab.1"
    assert page.read_bytes() == (ROOT / "docs" / "man" / "netlab.1").read_bytes()
