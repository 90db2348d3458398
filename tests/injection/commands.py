"""netlab's commands within this process, in a folder and with a home of the test's own."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from made_reports import undrawn
from made_streams import netlab


@dataclass(frozen=True)
class Commands:
    """A folder in which commands are run; reports draw no pictures."""

    folder: Path
    capture: pytest.CaptureFixture[bytes]

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """``netlab words…``: exit code, standard output and standard error."""
        with undrawn():
            code, out, err = netlab(self.capture, *words)
        assert "Traceback" not in err, err
        return subprocess.CompletedProcess(words, code, out, err)


@pytest.fixture
def commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Commands:
    new_commands = Commands(tmp_path, capfdbinary)
    new_commands.home.mkdir()
    monkeypatch.setenv("HOME", str(new_commands.home))
    monkeypatch.chdir(tmp_path)
    return new_commands
