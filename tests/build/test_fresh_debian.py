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

pytestmark = pytest.mark.needs("root", "debootstrap", "unshare")


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


@pytest.mark.night
@pytest.mark.alone
@pytest.mark.needs("index")
def test_netlab_measures_soon_after_its_installation_on_a_fresh_debian(tmp_path: Path) -> None:
    process = ended(TMPDIR=str(tmp_path), BOUND_S=str(MOST_S))
    print(process.stdout)
    assert process.returncode == 0, process.stdout[-2000:] + process.stderr[-3000:]
    took = {way: float(seconds) for way, seconds in SECONDS.findall(process.stdout)}
    assert set(took) == {"pip", "pipx"}
    assert max(took.values()) < MOST_S
    assert len(FIGURE.findall(process.stdout)) >= 2
    assert list(tmp_path.iterdir()) == []


def test_a_fresh_debian_that_cannot_be_made_leaves_no_file_and_no_mount(tmp_path: Path) -> None:
    programs, scratch = tmp_path / "programs", tmp_path / "left"
    programs.mkdir()
    scratch.mkdir()
    failing = programs / "debootstrap"
    failing.write_text("#!/bin/sh\necho no such mirror; exit 1\n")
    failing.chmod(0o755)
    process = ended(TMPDIR=str(scratch), PATH=f"{programs}{os.pathsep}{os.environ['PATH']}")
    assert process.returncode == 1
    assert "no such mirror" in process.stderr
    assert list(scratch.iterdir()) == []
    assert str(scratch) not in Path("/proc/self/mounts").read_text()


def test_a_terminated_fresh_debian_script_leaves_no_child_process_and_no_file(
    tmp_path: Path,
) -> None:
    programs, scratch, fifo = tmp_path / "programs", tmp_path / "left", tmp_path / "begun"
    programs.mkdir()
    scratch.mkdir()
    os.mkfifo(fifo)
    sleeper = programs / "debootstrap"
    # It holds its end of the pipe open as long as it lives.
    sleeper.write_text(f"#!/bin/sh\nexec sleep 600 3>'{fifo}'\n")
    sleeper.chmod(0o755)
    more = {"TMPDIR": str(scratch), "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    with subprocess.Popen([str(SCRIPT)], env=os.environ | more, stdin=subprocess.DEVNULL) as script:
        with fifo.open("rb") as pipe:
            assert len(list(scratch.iterdir())) == 1
            script.terminate()
            assert pipe.read() == b""
        assert script.wait(60) != 0
    assert list(scratch.iterdir()) == []
