"""The file operations that install a probe on a host: over SFTP (sftp.py) or by commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileSeen:
    """Attributes of a file on a host, without following a link."""

    mode: int
    """Type and permissions, as in stat(2); 0 if the host does not report them."""
    uid: int | None
    """Its owner; ``None`` if the host does not report it."""
    size_bytes: int
    changed_s: int | None = None
    """Time of the last change in seconds since 1970; ``None`` if it is not reported."""


class HostFiles(Protocol):
    """Files of a host. OSError if the host refuses an operation, HostError if the access fails."""

    def seen(self, path: str) -> FileSeen:
        """A file's type, owner and size; OSError if it does not exist."""

    def make_folder(self, path: str) -> None:
        """Create one folder, mode 0700; OSError if the path exists."""

    def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""

    def read(self, path: str, size_bytes: int) -> bytes:
        """Content of a file of ``size_bytes``; a login's output may precede and follow it."""

    def write(self, path: str, data: bytes) -> None:
        """Write a new file."""

    def allow_start(self, path: str) -> None:
        """Set mode 0700."""

    def rename(self, path: str, new: str) -> None:
        """Rename, replacing an existing file; in one step if the host can."""

    def remove(self, path: str) -> None:
        """Remove one file."""

    def touch(self, path: str) -> None:
        """Set the time of the last change to now, which marks the file as in use."""

    def older(self, folder: str, days: int) -> list[str]:
        """Names of the files that were not changed for this number of days."""
