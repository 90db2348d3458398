"""A lab's folder under /run: its plan, its keys, its processes; and the lock on all labs.

/run is emptied by a reboot, as namespaces are. The folder is root's alone, because the client's
key is in it. It is the claim on the name: made first by ``up``, removed last by ``down``.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netlab.errors import HostError, UsageError
from netlab.lab.plan import LabPlan, plan_from_json

ROOT = Path("/run/netlab")
"""Of all labs of this machine. One place only, so that ``down`` finds what ``up`` left."""

PLAN = "plan.json"
COMPLETE = "complete"


def folder_of(name: str) -> Path:
    """Where the lab of that name keeps its files."""
    return ROOT / name


@contextmanager
def locked() -> Iterator[None]:
    """Hold all labs of this machine: one ``up`` or ``down`` at a time.

    The lock is on the folder itself, so that no lock file outlives the last lab. Whoever waited
    for a folder that is gone meanwhile starts over.

    Programs started by ``programs.run`` share the lock: when an ``up`` is killed, its last `ip`
    goes on for a moment, and a ``down`` must not look before that one has made what it makes.
    """
    import fcntl  # not on every system that can import this room

    while True:
        ROOT.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(ROOT, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.set_inheritable(descriptor, True)
            if not _is(ROOT, descriptor):
                continue
            try:
                yield
            finally:
                if not any(ROOT.iterdir()):
                    ROOT.rmdir()
            return
        finally:
            os.close(descriptor)


def _is(path: Path, descriptor: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def claim(name: str) -> Path:
    """Make the lab's folder, or raise UsageError when the name is taken."""
    folder = folder_of(name)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        what = "is up" if (folder / COMPLETE).exists() else "is left from an `up` that was cut off"
        raise UsageError(
            f"the lab {name} {what}: `netlab lab down --name {name}` first, or choose another "
            f"--name"
        ) from None
    return folder


def names() -> tuple[str, ...]:
    """Labs that have a folder, whole or not; none to an account that may not look."""
    try:
        return tuple(sorted(entry.name for entry in ROOT.iterdir() if entry.is_dir()))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return ()


def write_plan(folder: Path, plan: LabPlan) -> None:
    """Write the plan down, whole or not at all; nothing of it may be made before."""
    _write_whole(folder / PLAN, json.dumps(plan.as_json(), indent=2) + "\n")


def read_plan(folder: Path) -> LabPlan | None:
    """The plan in a folder; None where none was written, and so nothing was made."""
    try:
        text = (folder / PLAN).read_text()
    except FileNotFoundError:
        return None
    except PermissionError:
        raise HostError(f"{folder} is root's: try again with sudo") from None
    try:
        return plan_from_json(json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise HostError(f"{folder / PLAN} is no plan of this netlab version: {error}") from None


def slot_of(folder: Path) -> int | None:
    """The slot that a lab's plan names, whichever version of netlab wrote it; None where none."""
    try:
        slot = json.loads((folder / PLAN).read_text())["slot"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return slot if isinstance(slot, int) else None


def mark_complete(folder: Path) -> None:
    """Say that ``up`` came to its end."""
    (folder / COMPLETE).touch()


def is_complete(folder: Path) -> bool:
    """Whether ``up`` came to its end."""
    return (folder / COMPLETE).exists()


def forget(folder: Path) -> None:
    """Remove the lab's folder."""
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Started:
    """A process that we started, so that its number cannot be taken for somebody else's later."""

    pid: int
    start_ticks: int
    """Since boot, field 22 of /proc/PID/stat; the same before and after exec."""
    boot_id: str

    def lives(self) -> bool:
        """Whether that very process is there, and not only one of its number."""
        return self.boot_id == _boot_id() and start_ticks(self.pid) == self.start_ticks


def started(pid: int) -> Started:
    """Take down a living process of ours."""
    ticks = start_ticks(pid)
    if ticks is None:
        raise HostError(f"process {pid} ended at once")
    return Started(pid, ticks, _boot_id())


def write_started(file: Path, process: Started) -> None:
    """Write a process's number down with what makes it unmistakable."""
    plain: dict[str, Any] = {
        "pid": process.pid,
        "start_ticks": process.start_ticks,
        "boot_id": process.boot_id,
    }
    _write_whole(file, json.dumps(plain) + "\n")


def read_started(file: Path) -> Started | None:
    """The inverse of ``write_started``; None where there is no such file."""
    try:
        return Started(**json.loads(file.read_text()))
    except FileNotFoundError:
        return None


def start_ticks(pid: int) -> int | None:
    """When a process started; None where none of that number lives (a zombie does not)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold spaces and parentheses itself.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _write_whole(path: Path, text: str) -> None:
    half = path.with_name(path.name + ".new")
    half.write_text(text)
    half.rename(path)
