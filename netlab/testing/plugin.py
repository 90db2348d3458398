"""The pytest plugin: recorded runs and live ones as fixtures, for tests of networks and systems.

pytest loads it in every run of an environment that has netlab, so it imports nothing but pytest
until a test asks for one of its fixtures.
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
"""``--netlab-NAME`` of the command line, relative to where pytest was called; ``netlab_NAME`` of an
ini file and the arguments of markers, relative to the root folder."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, each also as a line of an ini file."""
    group = parser.getgroup("netlab", "netlab: measurements of networks")
    for name, (metavar, about) in OPTIONS.items():
        group.addoption(f"--netlab-{name}", metavar=metavar, help=about)
        parser.addini(f"netlab_{name}", about, type="string", default="")


def pytest_configure(config: pytest.Config) -> None:
    """The marker."""
    config.addinivalue_line(
        "markers", "netlab_run(folder): the recorded run that the fixture netlab_run returns"
    )


@pytest.fixture
def netlab_run(request: pytest.FixtureRequest) -> RunUnderTest:
    """A recorded run: of the marker ``netlab_run(folder)``, else of ``--netlab-run``, else of the
    ini file.
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

    ``hosts`` is the inventory (without it ``--netlab-hosts``, else the matrix's own), ``only`` a
    list of pairings; every other word is laid over the matrix as ``--set`` does. What is asked for
    twice in a session is measured once.
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
    """What the command line names, else the ini file."""
    option = config.getoption(f"--netlab-{name}")
    if option:
        return config.invocation_params.dir / str(option)
    in_file = str(config.getini(f"netlab_{name}"))
    return config.rootpath / in_file if in_file else None
