"""Programs of every system that can run here, and how they are started: fixtures of whichever test
asks for them, made once a session.

Linux with two C libraries, another processor under qemu, Windows under wine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
from folders import PROBES
from needs import require
from netprobe_agents import Agent

from netlab.build import binaries
from netlab.build.binaries import Sources

SOURCES = Sources.of_checkout(PROBES)
WINE = next(
    (path for path in ("/usr/lib/wine/wine64", "/usr/lib64/wine/wine64") if Path(path).exists()),
    shutil.which("wine64") or "",
)
WINESERVER = next(
    (
        str(path)
        for path in (Path("/usr/lib/wine/wineserver64"), Path("/usr/lib/wine/wineserver"))
        if path.exists()
    ),
    shutil.which("wineserver") or "",
)
QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64") or ""


def make(*words: str) -> str:
    process = subprocess.run(
        ["make", "--no-print-directory", "-C", str(PROBES), f"PYTHON={sys.executable}", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert "warning" not in process.stderr, process.stderr
    return process.stdout


def built(target: str) -> Path:
    """The probe for a target, as a release carries it."""
    require("zig")
    return binaries.build(SOURCES, binaries.targets_named([target])[0]).path


def contract(target: str) -> Path:
    """The contract's test for a target, built as its probe is."""
    require("zig")
    return binaries.build_contract(SOURCES, binaries.targets_named([target])[0]).path


GREETING_S = 8.0
"""Less than the lease of an agent, 12 s: another agent, greeted before, waits meanwhile."""


@dataclass(frozen=True)
class Runner:
    """How programs of one system are started here."""

    name: str
    probe: Path
    contract: tuple[str, ...]
    windows: bool = False

    def agent(self, *words: str) -> Agent:
        """An agent. One under wine has been greeted: seldom, once in some 800 trials, such a
        program says no word at all, and is started again; what hangs later is ours."""
        for _ in range(3 if self.windows else 1):
            agent = Agent(self.probe, *words)
            if not self.windows or agent.answers(GREETING_S):
                return agent
            print(f"{self.name}: an agent said nothing within {GREETING_S:g} s", file=sys.stderr)
            agent.kill()
        pytest.fail(f"{self.name}: three agents in a row said nothing")


def script(place: Path, *words: str) -> Path:
    """A program that starts another one in its place: its process id and its pipes stay."""
    place.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in words) + ' "$@"\n')
    place.chmod(0o755)
    return place


@pytest.fixture(scope="session")
def wine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, ...]]:
    """Words that start a Windows program: in a prefix of our own, whose server runs already."""
    require("wine")
    prefix = tmp_path_factory.mktemp("wine")
    settings = {"WINEPREFIX": str(prefix), "WINEDEBUG": "-all"}
    # Without -R some start in a thousand ends at once and silently, where Linux puts its heap in
    # the way (netlab/lab/state.py).
    start = ("setarch", "-R", WINE)

    def run(*words: str) -> None:
        # What wine leaves running would hold on to our pipes.
        subprocess.run(
            words,
            env=os.environ | settings,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=300,
            check=False,
        )

    run(*start, "wineboot", "--init")
    run(*start, "reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f")
    run(WINESERVER, "-k")
    run(WINESERVER, "-p")
    run(
        *start, "cmd", "/c", "exit"
    )  # its services start with the first program, and hold its pipes
    yield ("env", *(f"{key}={value}" for key, value in settings.items()), *start)
    run(WINESERVER, "-k")
    run(WINESERVER, "-w")
    shutil.rmtree(prefix, ignore_errors=True)


RUNNERS = ["linux", "musl", "aarch64", "windows", "mingw"]
OTHERS = ["aarch64", "windows"]
"""What can fail where Linux on this processor, with its usual C library, does not."""


@pytest.fixture(scope="session", params=RUNNERS)
def every_runner(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Runner:
    """Each of them."""
    return make_runner(request, request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(
    scope="session",
    params=[
        name if name in OTHERS else pytest.param(name, marks=pytest.mark.night) for name in RUNNERS
    ],
)
def runner(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """The systems that fail apart from this one; at night each of them."""
    return make_runner(request, request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="session")
def windows(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    wine: tuple[str, ...],  # named here, so that what it needs is known before a test is run
) -> Runner:
    """Windows programs of whichever compiler is here."""
    compiler = "windows" if find_spec("ziglang") is not None else "mingw"
    return make_runner(request, compiler, tmp_path_factory.mktemp("pe"))


@pytest.fixture(scope="session")
def linux(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return make_runner(request, "linux", tmp_path_factory.mktemp("elf"))


def make_runner(request: pytest.FixtureRequest, name: str, folder: Path) -> Runner:
    """Builds what a runner needs, or skips with the reason."""
    if name == "linux":
        make("all", "contract")
        return Runner(name, PROBES / "build" / "netprobe", (str(PROBES / "build" / "contract"),))
    if name == "musl":
        require("x86_64")
        tests = contract("linux-x86_64")
        return Runner(name, built("linux-x86_64"), (str(tests),))
    if name == "aarch64":
        require("qemu")
        tests = contract("linux-aarch64")
        probe = script(folder / "netprobe", QEMU, str(built("linux-aarch64")))
        return Runner(name, probe, (QEMU, str(tests), "emulated"))
    if name == "mingw":
        require("mingw")
        (target,) = binaries.targets_named(["windows-x86_64"])
        mingw = binaries.compilers_for(target)[-1]
        tests = binaries.build_contract(SOURCES, target, mingw).path
        binary = binaries.build(SOURCES, target, compiler=mingw).path
    else:
        tests, binary = contract("windows-x86_64"), built("windows-x86_64")
    start: tuple[str, ...] = request.getfixturevalue("wine")
    probe = script(folder / "netprobe", *start, str(binary))
    return Runner(name, probe, (*start, str(tests), "emulated"), windows=True)
