"""Runs through the command line, in a folder of their own, that end and leave no probe behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

LEASE_S = 12.0
IDLE_LEFT_S = LEASE_S + 5


@dataclass
class Bench:
    """A folder in which netlab is run as a person runs it, with a home of its own."""

    folder: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def home(self) -> Path:
        """Of the person: ``.ssh`` and the cache are in it."""
        return self.folder / "home"

    def start(
        self, *words: str, env: Mapping[str, str] | None = None, **popen: object
    ) -> subprocess.Popen[str]:
        """Start ``netlab words…``; it is killed at the test's end where it still runs."""
        child = subprocess.Popen(  # type: ignore[call-overload]
            [sys.executable, "-m", "netlab", *words],
            **{
                "cwd": self.folder,
                "env": os.environ | {"HOME": str(self.home)} | dict(env or {}),
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "text": True,
                **popen,
            },
        )
        self.started.append(child)
        return child  # type: ignore[no-any-return]

    def run(
        self, *words: str, timeout_s: float = 120, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """``netlab words…`` to its end, which comes by itself."""
        child = self.start(*words, env=env)
        out, err = child.communicate(timeout=timeout_s)
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(child.args, child.returncode, out, err)

    def probes_left(self, within_s: float = IDLE_LEFT_S) -> list[int]:
        """Those that still live after a time; empty as soon as none does."""
        give_up = time.monotonic() + within_s
        while (left := probes_of(self.folder)) and time.monotonic() < give_up:
            time.sleep(0.05)
        return left


def probes_of(folder: Path) -> list[int]:
    """Agents that a test's runs started: they work in its folder, or their file is in it."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            program = (entry / "exe").readlink()
            places = (program, (entry / "cwd").readlink())
        except (OSError, ValueError):
            continue
        ours = any(place.is_relative_to(folder) for place in places)
        if ours and program.name.startswith("netprobe"):
            found.append(int(entry.name))
    return found


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench whose runs are over and whose probes are gone at the end."""
    made = Bench(tmp_path)
    made.home.mkdir(exist_ok=True)
    yield made
    for child in made.started:
        if child.poll() is None:
            child.kill()
        child.communicate()
    assert made.probes_left() == []
