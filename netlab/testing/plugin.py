"""The pytest plugin: recorded and live runs as fixtures, for tests of networks and systems.

pytest loads it in every environment that has netlab, so it imports only pytest until a test uses
one of its fixtures.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from netlab.testing.live_run import RunUnderTest

OPTIONS = {
    "run": ("DIR", "The recorded run that the fixture netlab_run returns."),
    "baseline": ("DIR", "The baseline of recorded and live runs."),
    "hosts": ("FILE", "The inventory of the live runs of netlab_live."),
    "into": ("DIR", "The folder of the live runs; default: pytest's temporary folder."),
}
"""Options ``--netlab-NAME`` of the command line and ``netlab_NAME`` of an ini file.

Paths of the command line are relative to the folder in which pytest was called. Paths of the ini
file and of markers are relative to pytest's root folder."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, each also as a line of an ini file."""
    group = parser.getgroup("netlab", "netlab: measurements of networks")
    for name, (metavar, about) in OPTIONS.items():
        group.addoption(f"--netlab-{name}", metavar=metavar, help=about)
        parser.addini(f"netlab_{name}", about, type="string", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "netlab_run(folder): the recorded run that the fixture netlab_run returns"
    )


@pytest.fixture
def netlab_run(request: pytest.FixtureRequest) -> RunUnderTest:
    """A recorded run: of the marker ``netlab_run(folder)``, else ``--netlab-run``, else the ini
    file.
    """
    marker = request.node.get_closest_marker("netlab_run")
    folder = (
        _path_option(request.config, "run")
        if marker is None
        else request.config.rootpath / str(marker.args[0])
    )
    if folder is None:
        pytest.fail(
            "no run is named: mark the test with netlab_run(folder), or pass --netlab-run DIR",
            pytrace=False,
        )
    from netlab.testing.live_run import recorded

    return recorded(folder, _path_option(request.config, "baseline"))


@pytest.fixture(scope="session")
def netlab_live(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., RunUnderTest]:
    """Measures a matrix: ``netlab_live("matrix.yaml", hosts="hosts.yaml", duration="1s")``.

    ``hosts`` is the inventory (default: ``--netlab-hosts``, else the inventory of the matrix),
    ``only`` a list of pairings; every other keyword replaces a setting as ``--set`` does. Calls
    with the same arguments return the same run, which is measured once per session.
    """
    from netlab.testing.live_run import Live

    into = _path_option(pytestconfig, "into")
    return Live(
        root=pytestconfig.rootpath,
        into=tmp_path_factory.mktemp("netlab") if into is None else into,
        hosts=_path_option(pytestconfig, "hosts"),
        baseline=_path_option(pytestconfig, "baseline"),
    )


def _path_option(config: pytest.Config, name: str) -> Path | None:
    """A path from the command line, else from the ini file."""
    option = config.getoption(f"--netlab-{name}")
    if option:
        return config.invocation_params.dir / str(option)
    in_file = str(config.getini(f"netlab_{name}"))
    return config.rootpath / in_file if in_file else None
