"""What a disk may hold after a power cut: every end of a recorded run of file operations.

``Recorder`` stands between netlab and the calls of ``os`` that change a disk. A call is durable by
what followed it: bytes by an fsync of their file, names by an fsync of their folder (POSIX promises
no more). ``ends`` gives what may be there after each call: everything durable, and of the rest any
part in any order; of bytes a beginning, and of later bytes some without the earlier ones, whose
place reads as zeros.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

Files = Mapping[str, bytes]
"""Path below the root → what is in the file there."""

MOST_ORDERS = 4
"""So many unsynced operations are tried in every combination; of more the first ones."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One change of the disk; ``inode`` is that of the file, 0 for a folder."""

    kind: str
    """write, name (a file got one), move, unlink; sync and sync-names make those durable."""
    inode: int
    path: str = ""
    """Of a name, or the folder of sync-names."""
    target: str = ""
    offset: int = 0
    data: bytes = b""


@dataclass
class Recorder:
    """Records what is done below a root while it is installed."""

    root: Path
    operations: list[Operation] = field(default_factory=list)
    acknowledged: list[int] = field(default_factory=list)
    """After how many operations each record was acknowledged."""

    def acknowledge(self, _synced: object = None) -> None:
        """A record is acknowledged, with all that was done by now."""
        self.acknowledged.append(len(self.operations))

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Take the place of the calls that change a disk."""
        self._wrap(patch, "open", self._opened)
        self._wrap(patch, "write", self._wrote)
        self._wrap(patch, "fsync", self._synced)
        self._wrap(patch, "replace", self._moved)

    def _wrap(self, patch: pytest.MonkeyPatch, name: str, note: Callable[..., None]) -> None:
        true = getattr(os, name)

        def hooked(*arguments: Any, **keywords: Any) -> Any:
            result = true(*arguments, **keywords)
            note(result, *arguments, **keywords)
            return result

        patch.setattr(os, name, hooked)

    def _opened(
        self, result: int, path: Any, flags: int, _mode: int = 0, *, dir_fd: int | None = None
    ) -> None:
        place = self._below(path, dir_fd)
        if place is not None and flags & os.O_CREAT and flags & os.O_EXCL:
            self.operations.append(Operation("name", os.fstat(result).st_ino, place))

    def _wrote(self, result: int, descriptor: int, data: Any) -> None:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            offset = os.lseek(descriptor, 0, os.SEEK_CUR) - result
            chunk = bytes(data[:result])
            self.operations.append(Operation("write", status.st_ino, offset=offset, data=chunk))

    def _synced(self, _result: None, descriptor: int) -> None:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            place = self._below(Path(f"/proc/self/fd/{descriptor}").readlink(), None)
            if place is not None:
                self.operations.append(Operation("sync-names", 0, place))
        else:
            self.operations.append(Operation("sync", status.st_ino))

    def _moved(
        self, _result: None, old: Any, new: Any, *, src_dir_fd: int, dst_dir_fd: int
    ) -> None:
        old_place, new_place = self._below(old, src_dir_fd), self._below(new, dst_dir_fd)
        if old_place is not None and new_place is not None:
            self.operations.append(Operation("move", 0, old_place, new_place))

    def _below(self, path: Any, folder: int | None) -> str | None:
        place = Path(path)
        if folder is not None:
            place = Path(f"/proc/self/fd/{folder}").readlink() / place
        return str(place.relative_to(self.root)) if place.is_relative_to(self.root) else None


@dataclass
class Disk:
    """Names and bytes as operations leave them."""

    names: dict[str, int] = field(default_factory=dict)
    content: dict[int, bytearray] = field(default_factory=dict)

    def apply(self, operation: Operation) -> None:
        if operation.kind == "name":
            self.names[operation.path] = operation.inode
            self.content.setdefault(operation.inode, bytearray())
        elif operation.kind == "move" and operation.path in self.names:
            self.names[operation.target] = self.names.pop(operation.path)
        elif operation.kind == "write":
            content = self.content.setdefault(operation.inode, bytearray())
            content.extend(bytes(max(0, operation.offset + len(operation.data) - len(content))))
            content[operation.offset : operation.offset + len(operation.data)] = operation.data

    def copy(self) -> Disk:
        return Disk(
            dict(self.names), {inode: content[:] for inode, content in self.content.items()}
        )

    def files(self) -> Files:
        return {path: bytes(self.content[inode]) for path, inode in self.names.items()}


def ends(operations: Sequence[Operation]) -> Iterator[tuple[int, Disk]]:
    """(operations done, what may be on the disk then), for every cut and every loss."""
    durable, pending = Disk(), list[Operation]()
    for count in range(len(operations) + 1):
        for survivors in _kept(pending):
            disk = durable.copy()
            for operation in survivors:
                disk.apply(operation)
            yield count, disk
        if count < len(operations):
            pending = _settled(durable, pending, operations[count])


def _settled(durable: Disk, pending: list[Operation], last: Operation) -> list[Operation]:
    """What is still not durable after an operation; what became so is put on the disk."""
    if last.kind not in ("sync", "sync-names"):
        return [*pending, last]
    open_operations = []
    for operation in pending:
        names = last.kind == "sync-names" and operation.kind != "write"
        parent = str(Path(operation.target or operation.path).parent)
        if (names and parent == last.path) or (
            last.kind == "sync" and operation.inode == last.inode and operation.kind == "write"
        ):
            durable.apply(operation)
        else:
            open_operations.append(operation)
    return open_operations


def _kept(pending: Sequence[Operation]) -> Iterator[tuple[Operation, ...]]:
    """Parts of what is pending: each combination, and of the last bytes kept a beginning."""
    head, tail = pending[:-MOST_ORDERS], pending[-MOST_ORDERS:]
    for count in range(len(tail) + 1):
        for selection in itertools.combinations(tail, count):
            yield (*head, *selection)
            writes = [write for write in selection if write.kind == "write" and len(write.data) > 1]
            for write in writes:
                for part in {1, len(write.data) // 2, len(write.data) - 1}:
                    torn_write = Operation(
                        "write", write.inode, offset=write.offset, data=write.data[:part]
                    )
                    yield (*head, *(torn_write if entry is write else entry for entry in selection))
