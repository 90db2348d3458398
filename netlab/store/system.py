"""Disk operations that differ between operating systems: folders, links, positions, locks.

Of the modules that read runs, only this one depends on the system.

POSIX systems open a name from a descriptor of its folder, and refuse a link in the same call. So
nobody can exchange the name between a check and the call. On Windows, each name is checked first
and then opened by its path. So a link or a junction in a folder from elsewhere is refused there
too, but not one that somebody creates while netlab reads.
"""

from __future__ import annotations

import errno
import os
import stat
from importlib import import_module
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # Windows
    _msvcrt: Any = import_module("msvcrt")
else:
    _msvcrt = None

_AT_ONCE = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
"""Whether one call opens a name from its folder and refuses a link."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_BYTES = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
"""Flags for Windows: no conversion of line feeds, and child processes inherit no descriptors."""
NO_WAITING = getattr(os, "O_NONBLOCK", 0)
"""Flag for opening a file: without it, a pipe without a writer would block for ever. Windows has no
pipes in folders."""

_ELSEWHERE = 0x20000000
"""Bit of a reparse tag which means that the name refers to another name. Links and junctions have
this bit; placeholders of cloud files do not."""
_LOCKED_BYTE = 1 << 30
"""Position of the locked byte, far behind the text: on Windows, others cannot read locked bytes."""


def is_link(path: Path) -> bool:
    """Whether a name is a symbolic link, or a junction of Windows."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return False
    tag: int = getattr(status, "st_reparse_tag", 0)
    return stat.S_ISLNK(status.st_mode) or bool(tag & _ELSEWHERE)


def open_file(path: Path, flags: int, mode: int = 0o600) -> int:
    """A descriptor of a file by its path, which must not be a link; OSError as ``os.open``."""
    _refuse_link(path)
    return os.open(path, flags | _NO_LINK | _BYTES, mode)


def _refuse_link(path: Path) -> None:
    """Raise OSError for a link, on systems that cannot refuse a link themselves."""
    if not _AT_ONCE and is_link(path):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


class Folder:
    """An open folder; names in it are reached from its descriptor. All its calls raise OSError."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def open(cls, path: Path) -> Folder:
        """Open a folder by its path, which may be a link."""
        if not _AT_ONCE:
            os.scandir(path).close()  # OSError unless it is a folder that may be read
            return cls(path, None)
        return cls(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY))

    def below(self, name: str) -> Folder:
        """Open a folder in it that is not a link."""
        path = self._path / name
        _refuse_link(path)
        if self._descriptor is None:
            return Folder.open(path)
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
        return Folder(path, os.open(name, flags, dir_fd=self._descriptor))

    def make(self, name: str, mode: int) -> None:
        """Create a folder in it."""
        os.mkdir(self._at(name), mode, dir_fd=self._descriptor)

    def create(self, name: str, mode: int) -> int:
        """A descriptor to write a file that does not exist yet."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _BYTES
        return os.open(self._at(name), flags, mode, dir_fd=self._descriptor)

    def read(self, name: str) -> int:
        """A descriptor to read a file in it that is not a link."""
        if self._descriptor is None:
            return open_file(self._path / name, os.O_RDONLY | NO_WAITING)
        flags = os.O_RDONLY | NO_WAITING | _NO_LINK | _BYTES
        return os.open(name, flags, dir_fd=self._descriptor)

    def replace(self, name: str, by: str) -> None:
        """Rename the file ``by`` to ``name``, replacing the file of that name."""
        descriptor = self._descriptor
        os.replace(self._at(by), self._at(name), src_dir_fd=descriptor, dst_dir_fd=descriptor)

    def remove(self, name: str) -> None:
        """Remove a file; for a link, the link itself."""
        os.unlink(self._at(name), dir_fd=self._descriptor)

    def names(self) -> list[str]:
        """All names in it."""
        folder = self._path if self._descriptor is None else self._descriptor
        return os.listdir(folder)  # noqa: PTH208

    def sync(self) -> None:
        """Make its names durable. Windows has no such call; its file system keeps a journal."""
        if self._descriptor is None:
            return
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            # Some file systems (vfat, some network ones) have no such call for folders.
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise

    def close(self) -> None:
        """Close its descriptor."""
        if self._descriptor is not None:
            os.close(self._descriptor)

    def _at(self, name: str) -> str:
        return str(self._path / name) if self._descriptor is None else name


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    """Bytes at an offset of a file. On Windows the file position moves."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, size)


def write_from_begin(descriptor: int, data: bytes) -> None:
    """Overwrite the beginning of a file."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, data)


def lock(descriptor: int, *, shared: bool = False) -> None:
    """Lock a file without waiting, until it is closed; BlockingIOError if another process has it.

    A ``shared`` lock admits other shared ones; Windows has exclusive locks only.
    """
    if _msvcrt is None:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        return
    os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
    try:
        _msvcrt.locking(descriptor, _msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno not in (errno.EACCES, errno.EDEADLK, 0, None):  # wine gives no number
            raise
        raise BlockingIOError(errno.EACCES, os.strerror(errno.EACCES)) from None


def unlock(descriptor: int) -> None:
    """Unlock a file before it is closed, because Windows unlocks a closed file with a delay.

    On other systems, this does nothing.
    """
    if _msvcrt is not None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        _msvcrt.locking(descriptor, _msvcrt.LK_UNLCK, 1)
