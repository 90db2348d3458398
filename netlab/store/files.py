"""Disk: the few ways in which netlab writes files, durable, and a refusal as one sentence."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from pathlib import Path

from netlab.errors import StoreError

_ADVICE = {
    errno.ENOSPC: "free some space, then give the same command again",
    errno.EDQUOT: "your quota is used up; free some space, then give the same command again",
    errno.EROFS: "the file system is read-only; make it writable or choose another folder",
    errno.EACCES: "change its permissions or choose another folder",
    errno.EPERM: "change its permissions or choose another folder",
    errno.EIO: "the disk may be failing; copy the folder to another one and go on there",
}


def refused(error: OSError, path: Path, doing: str) -> StoreError:
    """The disk's refusal as one sentence: what, where, what to do."""
    name = errno.errorcode.get(error.errno or 0, "no error number")
    advice = _ADVICE.get(error.errno or 0)
    sentence = f"{path}: cannot {doing}: {error.strerror or error} ({name})"
    return StoreError(f"{sentence}; {advice}" if advice else sentence)


def make_folder(path: Path) -> None:
    """Create a folder that only its owner may enter (0700), with its parents; durable."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=0o700)
    except OSError as error:
        raise refused(error, path, "create the folder") from None
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable: fsync of the folder itself."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        # Some file systems (vfat, some network ones) have no such call for folders.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise refused(error, path, "make the folder durable") from None


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, with one call where the system takes it in one. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def write_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a file as a whole or not at all: temporary file, fsync, rename, fsync of the folder.

    Raises StoreError; then the old file, where there was one, stands unchanged.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        descriptor = os.open(temporary, flags, mode)
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, path)  # noqa: PTH105 - the fault tests count calls of os
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise refused(error, path, "write the file") from None
    sync_folder(path.parent)


def read_file(path: Path) -> bytes:
    """All bytes of a file; StoreError where the disk refuses."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise refused(error, path, "read the file") from None
