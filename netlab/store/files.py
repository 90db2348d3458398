"""Disk: durable files, folders and locks on each system, and a disk's error in one sentence.

A file below a run folder is opened from that folder, name by name. No name may be a link, so that a
run folder from elsewhere cannot refer to files outside of itself. POSIX systems refuse a link in
the call that opens the name. On Windows, each name is checked first, so a link that somebody
creates while netlab reads is not refused.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

from netlab.errors import StoreError

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
    if not _AT_ONCE and is_link(path):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return os.open(path, flags | _NO_LINK | _BYTES, mode)


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
        if self._descriptor is not None:
            return Folder(path, self.open_file(name, os.O_RDONLY | os.O_DIRECTORY))
        if is_link(path):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        return Folder.open(path)

    def make(self, name: str, mode: int) -> None:
        """Create a folder in it."""
        os.mkdir(self._at(name), mode, dir_fd=self._descriptor)

    def open_file(self, name: str, flags: int, mode: int = 0o600) -> int:
        """A descriptor of a file in it that is not a link."""
        if self._descriptor is None:
            return open_file(self._path / name, flags, mode)
        return os.open(name, flags | _NO_LINK | _BYTES, mode, dir_fd=self._descriptor)

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
    """Unlock a file before it is closed: Windows unlocks a closed file with a delay, others not."""
    if _msvcrt is not None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        _msvcrt.locking(descriptor, _msvcrt.LK_UNLCK, 1)


_LINK = "it is a link, and netlab follows no link out of a run folder; replace it by its target"
_ADVICE = {
    errno.ELOOP: _LINK,
    errno.EMLINK: _LINK,  # FreeBSD's error for a link that must not be followed
    errno.ENOSPC: "free some space, then repeat the command",
    errno.EDQUOT: "your disk quota is used up; free some space, then repeat the command",
    errno.EROFS: "the file system is read-only; make it writable or choose another folder",
    errno.EACCES: "change its permissions or choose another folder",
    errno.EPERM: "change its permissions or choose another folder",
    errno.EIO: "the disk may be failing; copy the folder to another disk and continue there",
}


def disk_error(error: OSError, path: Path, doing: str) -> StoreError:
    """An error of the disk as one sentence: the path, the fault, the remedy."""
    name = errno.errorcode.get(error.errno or 0, "no error number")
    advice = _ADVICE.get(error.errno or 0)
    sentence = f"{path}: cannot {doing}: {error.strerror or error} ({name})"
    return StoreError(f"{sentence}; {advice}" if advice else sentence)


@contextlib.contextmanager
def disk_errors(path: Path, doing: str) -> Iterator[None]:
    """Raise an OSError of the context as a ``disk_error``."""
    try:
        yield
    except OSError as error:
        raise disk_error(error, path, doing) from None


def exists(path: Path) -> bool:
    """Whether something is at the path; False, and no error, if that cannot be determined."""
    # The next operation on the path then fails and states the reason.
    return os.path.exists(path)  # noqa: PTH110


def make_folder(path: Path) -> None:
    """Create a folder that only its owner may enter (0700), and its parents; make them durable."""
    folders = [path]
    while not exists(folders[-1].parent):
        folders.append(folders[-1].parent)
    for folder in reversed(folders):
        try:
            os.mkdir(folder, 0o700 if folder == path else 0o777)  # noqa: PTH102
        except OSError as error:
            if error.errno == errno.EEXIST and folder.is_dir():  # another process made it meanwhile
                continue
            raise disk_error(error, folder, "create the folder") from None
        sync_folder(folder.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable: fsync of the folder itself."""
    with disk_errors(path, "make the folder durable"), contextlib.closing(Folder.open(path)) as it:
        it.sync()


@contextlib.contextmanager
def folder_inside(root: Path, *below: str, make: int | None = None) -> Iterator[Folder]:
    """Open the folder ``root``, or the folder below it to which the names ``below`` lead.

    With a mode ``make``, missing folders below are created. Raises StoreError if a name below is a
    link, OSError if something is not a folder or the disk refuses.
    """
    folder = Folder.open(root)
    path = root
    try:
        for name in below:
            path = path / name
            if make is not None:
                with contextlib.suppress(FileExistsError):
                    folder.make(name, make)
            try:
                inner = folder.below(name)
            except OSError as error:
                _refuse_link(path)
                raise error from None
            folder.close()
            folder = inner
        yield folder
    finally:
        folder.close()


def open_inside(root: Path, *names: str) -> BinaryIO:
    """Open a regular file below a run folder to read it; OSError if the disk refuses.

    Raises StoreError for a link, and for a pipe or a device, which might never end.
    """
    *below, last = names
    path = root.joinpath(*names)
    with folder_inside(root, *below) as folder:
        try:
            descriptor = folder.open_file(last, os.O_RDONLY | NO_WAITING)
        except OSError as error:
            _refuse_link(path)
            raise error from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(f"{path}: not a regular file; restore it from a copy")
    return os.fdopen(descriptor, "rb")


def names_below(root: Path, folder: str) -> list[str]:
    """The sorted names in a subfolder of a run folder, if there is one. StoreError for a link."""
    with disk_errors(root / folder, "read the folder"):
        try:
            with folder_inside(root, folder) as inner:
                return sorted(inner.names())
        except (FileNotFoundError, NotADirectoryError):
            return []


def _refuse_link(path: Path) -> None:
    if is_link(path):
        raise StoreError(f"{path}: {_LINK}")


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes, with one call if the system accepts them at once. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def write_inside(root: Path, name: str, data: bytes, *, mode: int = 0o600) -> None:
    """Write a file below a folder, such as ``charts/a.svg``, as a whole or not at all: temporary
    file, fsync, rename, fsync of its folder, which must exist.

    Raises StoreError; the old file, if any, is then unchanged.
    """
    *below, last = name.split("/")
    temporary = f".{last}.{secrets.token_hex(4)}.tmp"
    with disk_errors(root / name, "write the file"), folder_inside(root, *below) as folder:
        try:
            descriptor = folder.open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            try:
                write_all(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            folder.replace(last, by=temporary)
        except OSError:
            with contextlib.suppress(OSError):
                folder.remove(temporary)
            raise
        folder.sync()


def write_private(root: Path, folder: str, name: str, data: bytes) -> None:
    """As ``write_inside``, for a file in a subfolder, which is created (0700) if it is missing."""
    with disk_errors(root / folder, "create the folder"), folder_inside(root, folder, make=0o700):
        pass
    write_inside(root, f"{folder}/{name}", data)


def remove_below(root: Path, folder: str, name: str) -> None:
    """Remove a file of a subfolder, if it is there. StoreError if the disk refuses."""
    missing, doing = contextlib.suppress(FileNotFoundError), "remove the file"
    with disk_errors(root / folder / name, doing), missing, folder_inside(root, folder) as inner:
        inner.remove(name)


def read_inside(path: Path, most_bytes: int) -> bytes:
    """All bytes of a regular file of a run folder; StoreError for a link, or a longer file."""
    with disk_errors(path, "read the file"), open_inside(path.parent, path.name) as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise StoreError(f"{path}: longer than {most_bytes >> 20} MiB; no run writes such a file")
    return data
