"""The writer's lock of a run folder, which the kernel releases when the writing process ends."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from pathlib import Path

from netlab.errors import LockedError
from netlab.experiment.records import utc_now
from netlab.store.files import disk_error
from netlab.store.system import NO_WAITING, lock, open_file, read_at, unlock, write_from_begin

_TRIES = 5
_PAUSE_S = 0.05
"""``holder`` takes the lock for an instant to see whether it is free. A writer must not fail
because of this, so it tries several times."""

_MOST_SHOWN = 400
"""Maximum number of characters of a holder's description that are shown."""


class WriterLock:
    """The lock; held until ``release`` or until the process ends in any way."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def acquire(cls, path: Path) -> WriterLock:
        """Take the lock without waiting. Raises LockedError, which names the writer that has it."""
        try:
            descriptor = open_file(path, os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise disk_error(error, path, "open the lock") from None
        for number in range(_TRIES):
            try:
                lock(descriptor)
                break
            except BlockingIOError:
                if number < _TRIES - 1:
                    time.sleep(_PAUSE_S)
            except OSError as error:
                os.close(descriptor)
                raise disk_error(error, path, "lock the folder") from None
        else:
            described = _describe(descriptor)
            os.close(descriptor)
            raise LockedError(
                f"{path.parent}: {described} is writing here; wait until it is done, or stop it"
            )
        try:
            # The text is only for messages to later writers; the kernel holds the lock.
            text = json.dumps(
                {
                    "pid": os.getpid(),
                    "boot": _boot(),
                    "machine": socket.gethostname(),
                    "since": utc_now(),
                }
            )
            os.ftruncate(descriptor, 0)
            write_from_begin(descriptor, text.encode("ascii"))
        except OSError as error:
            os.close(descriptor)
            raise disk_error(error, path, "write the lock") from None
        return cls(descriptor)

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, 0)
                unlock(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1


def holder(path: Path) -> str | None:
    """The writer's description, such as ``netlab with pid 71 on lab1 since …``; else ``None``."""
    try:
        # A call that may wait would block on a pipe without a writer.
        descriptor = open_file(path, os.O_RDONLY | NO_WAITING)
    except OSError:
        return None
    try:
        lock(descriptor, shared=True)
        unlock(descriptor)
        return None
    except OSError:
        return _describe(descriptor)
    finally:
        os.close(descriptor)


def _describe(descriptor: int) -> str:
    try:
        data = json.loads(read_at(descriptor, 4096, 0))
        boot = "" if data["boot"] == _boot() else " (another machine or an earlier boot)"
        words = f"netlab with pid {data['pid']} on {data['machine']} since {data['since']}{boot}"
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return "another netlab"
    # The file may come from elsewhere, and the description is printed on a terminal.
    return words if words.isprintable() and len(words) < _MOST_SHOWN else "another netlab"


def _boot() -> str:
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return ""
