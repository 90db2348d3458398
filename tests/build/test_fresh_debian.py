"""On a fresh Debian `netlab measure` answers soon after `pip install`: fresh_debian.sh."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from installs import FIGURE

SCRIPT = Path(__file__).parent / "fresh_debian.sh"
MOST_S = 90
"""From the begin of the installation to the answer."""
SECONDS = re.compile(r"^(pip|pipx): ([0-9.]+) s from the begin of the installation", re.MULTILINE)

pytestmark = [pytest.mark.slow, pytest.mark.needs("root", "debootstrap", "unshare")]


def ended(**more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(SCRIPT)],
        env=os.environ | more,
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.alone
@pytest.mark.needs("index")
def test_a_fresh_debian_answers_soon_after_pip_and_after_pipx(tmp_path: Path) -> None:
    said = ended(TMPDIR=str(tmp_path), BOUND_S=str(MOST_S))
    print(said.stdout)
    assert said.returncode == 0, said.stdout[-2000:] + said.stderr[-3000:]
    took = {way: float(seconds) for way, seconds in SECONDS.findall(said.stdout)}
    assert set(took) == {"pip", "pipx"}
    assert max(took.values()) < MOST_S
    assert len(FIGURE.findall(said.stdout)) >= 2
    assert list(tmp_path.iterdir()) == []


def test_a_debian_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    programs, left = tmp_path / "programs", tmp_path / "left"
    programs.mkdir()
    left.mkdir()
    failing = programs / "debootstrap"
    failing.write_text("#!/bin/sh\necho no such mirror; exit 1\n")
    failing.chmod(0o755)
    said = ended(TMPDIR=str(left), PATH=f"{programs}{os.pathsep}{os.environ['PATH']}")
    assert said.returncode == 1
    assert "no such mirror" in said.stderr
    assert list(left.iterdir()) == []
    assert str(left) not in Path("/proc/self/mounts").read_text()


def test_a_debian_that_is_stopped_half_way_leaves_nothing(tmp_path: Path) -> None:
    programs, left, begun = tmp_path / "programs", tmp_path / "left", tmp_path / "begun"
    programs.mkdir()
    left.mkdir()
    os.mkfifo(begun)
    sleeper = programs / "debootstrap"
    # It holds its end of the pipe open as long as it lives.
    sleeper.write_text(f"#!/bin/sh\nexec sleep 600 3>'{begun}'\n")
    sleeper.chmod(0o755)
    more = {"TMPDIR": str(left), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    with subprocess.Popen([str(SCRIPT)], env=os.environ | more, stdin=subprocess.DEVNULL) as script:
        with begun.open("rb") as pipe:
            assert len(list(left.iterdir())) == 1
            script.terminate()
            assert pipe.read() == b""
        assert script.wait(60) != 0
    assert list(left.iterdir()) == []
