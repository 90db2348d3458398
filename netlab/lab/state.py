"""A lab's folder under /run, with its plan, its keys and its processes; the lock on all labs.

A reboot empties /run and also removes the namespaces. Only root can access the folder, because it
contains the client's private key. The folder also reserves the lab's name: ``up`` makes it first,
``down`` removes it last.
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
"""Folder of all labs of this machine. There is only one, so that ``down`` finds every lab."""

PLAN = "plan.json"
COMPLETE = "complete"


def folder_of(name: str) -> Path:
    """Where the lab of that name keeps its files."""
    return ROOT / name


@contextmanager
def locked() -> Iterator[None]:
    """Lock all labs of this machine: one ``up`` or ``down`` at a time.

    The lock is on the folder itself, so that no lock file is left after the last lab. If the
    folder was removed while a process waited for the lock, the process starts over.

    Programs started by ``programs.run`` share the lock. When an ``up`` is killed, its last `ip`
    still runs for a moment; a ``down`` must wait until this program has finished.
    """
    import fcntl  # missing on some systems that can import this module

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
    """Make the lab's folder, or raise UsageError if the name is in use."""
    folder = folder_of(name)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        complaint = "is up" if (folder / COMPLETE).exists() else "is left from an interrupted `up`"
        raise UsageError(
            f"the lab {name} {complaint}: run `netlab lab down --name {name}` first, or choose "
            "another --name"
        ) from None
    return folder


def names() -> tuple[str, ...]:
    """Labs that have a folder, complete or not; none for an account without access."""
    try:
        return tuple(sorted(entry.name for entry in ROOT.iterdir() if entry.is_dir()))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return ()


def write_plan(folder: Path, plan: LabPlan) -> None:
    """Save the plan atomically; no piece of the lab may be made before this call."""
    _write_whole(folder / PLAN, json.dumps(plan.as_json(), indent=2) + "\n")


def read_plan(folder: Path) -> LabPlan | None:
    """The plan in a folder; ``None`` if no plan was saved, which means that nothing was made."""
    try:
        text = (folder / PLAN).read_text()
    except FileNotFoundError:
        return None
    except PermissionError:
        raise HostError(f"{folder} belongs to root: try again with sudo") from None
    try:
        return plan_from_json(json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise HostError(f"{folder / PLAN} is not a plan of this netlab version: {error}") from None


def slot_of(folder: Path) -> int | None:
    """The slot (see plan.py) in a lab's plan, which any version of netlab may have saved; ``None``
    if there is no slot.
    """
    try:
        slot = json.loads((folder / PLAN).read_text())["slot"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return slot if isinstance(slot, int) else None


def mark_complete(folder: Path) -> None:
    """Record that ``up`` is complete."""
    (folder / COMPLETE).touch()


def is_complete(folder: Path) -> bool:
    """Whether ``up`` was completed."""
    return (folder / COMPLETE).exists()


def forget(folder: Path) -> None:
    """Remove the lab's folder."""
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Started:
    """A process that netlab started, with data that distinguish this process from a later process
    with the same number.
    """

    pid: int
    start_ticks: int
    """Time of the start since boot, field 22 of /proc/PID/stat; exec does not change it."""
    boot_id: str

    def lives(self) -> bool:
        """Whether this process is running, and not another one with its number."""
        return self.boot_id == _boot_id() and start_ticks(self.pid) == self.start_ticks


def started(pid: int) -> Started:
    """Describe a running process that netlab started."""
    ticks = start_ticks(pid)
    if ticks is None:
        raise HostError(f"process {pid} ended at once")
    return Started(pid, ticks, _boot_id())


def write_started(file: Path, process: Started) -> None:
    """Save the number of a process with the data that identify the process."""
    plain: dict[str, Any] = {
        "pid": process.pid,
        "start_ticks": process.start_ticks,
        "boot_id": process.boot_id,
    }
    _write_whole(file, json.dumps(plain) + "\n")


def read_started(file: Path) -> Started | None:
    """The inverse of ``write_started``; None if there is no such file."""
    try:
        return Started(**json.loads(file.read_text()))
    except FileNotFoundError:
        return None


def start_ticks(pid: int) -> int | None:
    """When a process started; None if no process of this number is running (a zombie is not
    running).
    """
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
