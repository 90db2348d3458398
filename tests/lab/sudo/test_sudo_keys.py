"""The kernel's part of the rule: no key that the lab's ``sudo`` accepts is the whole machine's."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

pytestmark = [pytest.mark.needs("namespaces"), pytest.mark.beside]

ROOT = Path("/proc/sys")
CHANGES = """
import re, sys
from pathlib import Path
from netlab.lab.sudo.helper import RefusalError, accepted
for path in sorted(Path("/proc/sys").rglob("*")):
    key = "/".join(path.parts[3:])
    try:
        accepted(["sysctl", f"{key}=1"], (), ())
        found = path.read_text()
    except (RefusalError, OSError):
        continue
    for step in (1, -1):
        try:
            path.write_text(re.sub(r"\\d+", lambda number: str(int(number[0]) + step), found))
            if path.read_text() != found:
                print(key)
                break
        except OSError:
            continue
"""


def machine() -> dict[Path, str]:
    """The settings of this machine's own namespace that can be read now."""
    keys = {}
    for path in (ROOT / "net").rglob("*"):
        with suppress(OSError):
            keys[path] = path.read_text()
    return keys


def test_the_sysctls_that_sudo_in_a_lab_accepts_leave_the_machine_unchanged() -> None:
    """Every one is changed in a new network namespace, with all rights of root."""
    before = machine()
    process = subprocess.run(
        ["unshare", "--net", sys.executable, "-c", CHANGES],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    changed = [ROOT / key for key in process.stdout.splitlines()]
    assert len(changed) > 100
    assert ROOT / "net/ipv4/tcp_ecn" in changed
    assert all(path.is_relative_to(ROOT / "net") for path in changed)
    after = machine()
    assert [path for path in changed if before.get(path) != after.get(path)] == []
