"""Where operating systems differ on disk: folders, links, positions, locks. What reads runs asks
nowhere else which system it is on.

POSIX systems reach a name from a descriptor of its folder and follow no link in the same call. So
nobody can exchange the name between a look and the call. Windows has neither: there each name is
looked at and then reached by its path. A link or a junction in a folder from elsewhere is refused
there as well, but not one that somebody puts in its place while netlab reads.
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
"""Whether a name is reached from its folder and proved to be no link by one call."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_BYTES = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOINHERIT", 0)
"""Windows: line feeds stay what they are, and programs that are started get no descriptors."""
NO_WAITING = getattr(os, "O_NONBLOCK", 0)
"""A pipe without a writer would hold a blocking open for ever. Windows has no pipes in folders."""

_ELSEWHERE = 0x20000000
"""Bit of a reparse tag: the name stands for another one. Links and junctions have it; files that a
cloud keeps have not."""
_LOCKED_BYTE = 1 << 30
"""Windows keeps others from reading what is locked: a byte far behind what the lock says."""


def is_link(path: Path) -> bool:
    """Whether a name leads elsewhere: a symbolic link, or a junction of Windows."""
    try:
        seen = os.lstat(path)
    except (OSError, ValueError):
        return False
    tag: int = getattr(seen, "st_reparse_tag", 0)
    return stat.S_ISLNK(seen.st_mode) or bool(tag & _ELSEWHERE)


def open_file(path: Path, flags: int, mode: int = 0o600) -> int:
    """A descriptor of a file by its path, whose last name is no link; OSError as ``os.open``."""
    _refuse_link(path)
    return os.open(path, flags | _NO_LINK | _BYTES, mode)


def _refuse_link(path: Path) -> None:
    """OSError, as the system itself says it where it can; there nothing is done here."""
    if not _AT_ONCE and is_link(path):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


class Folder:
    """An open folder, whose names are reached from it. All its calls raise OSError."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def open(cls, path: Path) -> Folder:
        """By its path, which may be a link."""
        if not _AT_ONCE:
            os.scandir(path).close()  # it is there, it is a folder, and it may be read
            return cls(path, None)
        return cls(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY))

    def below(self, name: str) -> Folder:
        """A folder in it that is no link."""
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
        """A descriptor to write a file that is not there yet."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _BYTES
        return os.open(self._at(name), flags, mode, dir_fd=self._descriptor)

    def replace(self, name: str, by: str) -> None:
        """Give a file the name of another one, which is gone then."""
        here = self._descriptor
        os.replace(self._at(by), self._at(name), src_dir_fd=here, dst_dir_fd=here)

    def remove(self, name: str) -> None:
        """Remove a file; of a link the link."""
        os.unlink(self._at(name), dir_fd=self._descriptor)

    def names(self) -> list[str]:
        """All that is in it."""
        here = self._path if self._descriptor is None else self._descriptor
        return os.listdir(here)  # noqa: PTH208

    def sync(self) -> None:
        """Make its names durable. Windows has no such call: its file system keeps a journal."""
        if self._descriptor is None:
            return
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            # Some file systems (vfat, some network ones) have no such call for folders.
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise

    def close(self) -> None:
        """Let it go."""
        if self._descriptor is not None:
            os.close(self._descriptor)

    def _at(self, name: str) -> str:
        return str(self._path / name) if self._descriptor is None else name


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    """Bytes from a place of a file. On Windows the position moves there."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, size)


def write_from_begin(descriptor: int, data: bytes) -> None:
    """Write over the beginning of a file that nothing was written to by this descriptor."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, data)


def lock(descriptor: int, *, shared: bool = False) -> None:
    """Lock a file at once, until it is closed: BlockingIOError where another process has it.

    ``shared``: beside others who share it; Windows' one kind of lock keeps them out.
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
    """Before it is closed: Windows itself does so only some time after."""
    if _msvcrt is not None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        _msvcrt.locking(descriptor, _msvcrt.LK_UNLCK, 1)
