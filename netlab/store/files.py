"""Disk: how netlab writes durable files, and how it reports an error of the disk in one sentence.

A file below a run folder is opened from that folder, name by name. No name may be a link, so that a
run folder from elsewhere cannot refer to files outside of itself (system.py).
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from netlab.errors import StoreError
from netlab.store.system import NO_WAITING, Folder, is_link, open_file

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


def exists(path: Path) -> bool:
    """Whether something is at the path; False if that cannot be determined.

    ``Path.exists`` would raise an error in this case. With this function, the next operation on the
    path fails and states the reason.
    """
    return os.path.exists(path)  # noqa: PTH110


def make_folder(path: Path) -> None:
    """Create a folder that only its owner may enter (0700), and its parents; make them durable.

    A folder that another process creates meanwhile is accepted.
    """
    folders = [path]
    while not exists(folders[-1].parent):
        folders.append(folders[-1].parent)
    for folder in reversed(folders):
        try:
            os.mkdir(folder, 0o700 if folder == path else 0o777)  # noqa: PTH102
        except OSError as error:
            if error.errno == errno.EEXIST and folder.is_dir():
                continue
            raise disk_error(error, folder, "create the folder") from None
        sync_folder(folder.parent)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable: fsync of the folder itself."""
    try:
        folder = Folder.open(path)
        try:
            folder.sync()
        finally:
            folder.close()
    except OSError as error:
        raise disk_error(error, path, "make the folder durable") from None


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


def open_inside(path: Path) -> int:
    """A descriptor to read a regular file of a run folder; OSError if the disk refuses.

    Raises StoreError for a link, and for a pipe or a device, which might never end.
    """
    try:
        descriptor = open_file(path, os.O_RDONLY | NO_WAITING)
    except OSError as error:
        _refuse_link(path)
        raise error from None
    return _regular(descriptor, path)


def open_below(root: Path, folder: str, name: str) -> int:
    """As ``open_inside``, for a file in a subfolder, which must not be a link either."""
    with folder_inside(root, folder) as inner:
        try:
            descriptor = inner.read(name)
        except OSError as error:
            _refuse_link(root / folder / name)
            raise error from None
    return _regular(descriptor, root / folder / name)


def names_below(root: Path, folder: str) -> list[str]:
    """The names in a subfolder of a run folder, sorted; empty if there is none. StoreError if it is
    a link or the disk refuses.
    """
    try:
        with folder_inside(root, folder) as inner:
            return sorted(inner.names())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise disk_error(error, root / folder, "read the folder") from None


def _regular(descriptor: int, path: Path) -> int:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise StoreError(f"{path}: not a regular file; restore it from a copy")
    return descriptor


def _refuse_link(path: Path) -> None:
    if is_link(path):
        raise StoreError(f"{path}: {_LINK}")


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes, with one call if the system accepts them at once. Raises OSError."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def write_file(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Write a file as a whole or not at all: temporary file, fsync, rename, fsync of the folder.

    Raises StoreError; the old file, if any, is then unchanged.
    """
    write_inside(path.parent, path.name, data, mode=mode)


def write_inside(root: Path, name: str, data: bytes, *, mode: int = 0o600) -> None:
    """As ``write_file``, for a file below a folder, such as ``charts/a.svg``. The folder of the
    file must exist.
    """
    *below, last = name.split("/")
    temporary = f".{last}.{secrets.token_hex(4)}.tmp"
    try:
        with folder_inside(root, *below) as folder:
            try:
                descriptor = folder.create(temporary, mode)
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
    except OSError as error:
        raise disk_error(error, root / name, "write the file") from None


def write_private(root: Path, folder: str, name: str, data: bytes) -> None:
    """As ``write_file``, for a file in a subfolder, which is created (0700) if it is missing."""
    try:
        with folder_inside(root, folder, make=0o700):
            pass
    except OSError as error:
        raise disk_error(error, root / folder, "create the folder") from None
    write_inside(root, f"{folder}/{name}", data)


def remove_below(root: Path, folder: str, name: str) -> None:
    """Remove a file of a subfolder, if it is there. StoreError if the disk refuses."""
    try:
        with folder_inside(root, folder) as inner:
            inner.remove(name)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise disk_error(error, root / folder / name, "remove the file") from None


def read_file(path: Path) -> bytes:
    """All bytes of a file; StoreError if the disk refuses."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise disk_error(error, path, "read the file") from None


def read_inside(path: Path, most_bytes: int) -> bytes:
    """All bytes of a regular file of a run folder; StoreError if it is a link, is longer than
    ``most_bytes``, or the disk refuses.
    """
    try:
        with os.fdopen(open_inside(path), "rb") as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        raise disk_error(error, path, "read the file") from None
    if len(data) > most_bytes:
        raise StoreError(f"{path}: longer than {most_bytes >> 20} MiB; no run writes such a file")
    return data
