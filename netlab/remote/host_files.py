"""What is done with files of a host to put a probe there: over SFTP (sftp.py) or by commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileSeen:
    """What a host says of a file, without following a link."""

    mode: int
    """Type and permissions, as stat(2) has them; 0 where the host has none."""
    uid: int | None
    """Its owner; ``None`` where the host does not tell."""
    size_bytes: int
    changed_s: int | None = None
    """When, in seconds since 1970; ``None`` where it is not told."""


class HostFiles(Protocol):
    """Files of a host. A refusal of the host is an OSError, a way that fails a HostError."""

    def seen(self, path: str) -> FileSeen:
        """A file's type, owner and size; OSError where it is not there."""

    def make_folder(self, path: str) -> None:
        """One folder, mode 0700; OSError where something is there."""

    def remove_folder(self, path: str) -> None:
        """An empty folder."""

    def read(self, path: str, size_bytes: int) -> bytes:
        """A file of that size, with what may have been printed around it."""

    def write(self, path: str, data: bytes) -> None:
        """A new file."""

    def allow_start(self, path: str) -> None:
        """Mode 0700."""

    def rename(self, path: str, new: str) -> None:
        """Replaces what is there, in one step where the host can."""

    def remove(self, path: str) -> None:
        """One file."""

    def touch(self, path: str) -> None:
        """Note that it is in use: it was changed now."""

    def older(self, folder: str, days: int) -> list[str]:
        """The names of files that nobody changed for so long."""
