"""The errors of netlab as a tree. Each class has its exit code; its message says what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


class NetlabError(Exception):
    """Base of all errors that are reported without a traceback, one line for each fault. Of this
    class itself: an internal error, or the probe cannot be built.
    """

    exit_code: ClassVar[int] = 1


class StoreError(NetlabError):
    """A run folder cannot be read or written."""


class UsageError(NetlabError):
    """What the user typed or wrote is wrong."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault in a file that the user wrote, with its place."""

    file: str
    line: int
    """Counted from 1."""
    column: int
    """Counted from 1."""
    path: str
    """The key path, such as ``tests[0].message_size[2]``; empty for the whole document."""
    message: str

    def __str__(self) -> str:
        position = f"{self.file}:{self.line}:{self.column}: "
        return position + (f"{self.path}: " if self.path else "") + self.message


def place(text: str, index: int) -> tuple[int, int]:
    """Line and column of a character, both from 1."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


class MatrixError(UsageError):
    """A matrix or an inventory is wrong. ``faults`` has every fault found, in the file's order."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = sorted(faults, key=lambda f: (f.file, f.line, f.column))
        super().__init__("\n".join(str(fault) for fault in self.faults))


class IncompleteRun(NetlabError):
    """Some cells failed or are pending."""

    exit_code = 3


class HostError(NetlabError):
    """A host is unreachable, refused netlab, or is not fit to measure."""

    exit_code = 4


class HostRefused(HostError):
    """A host answered and refused netlab (login, algorithms); waiting does not help."""


class HostKeyError(HostRefused):
    """A host's key is unknown or is not the pinned one."""


class UnknownHostKey(HostKeyError):
    """A host's key is not known: the user may confirm it."""

    def __init__(self, host_label: str, key: str, fingerprint: str, sentence: str) -> None:
        self.shown = host_label
        """The host's name; for a jump host, with the name of the host behind it."""
        self.key = key
        """``ssh-ed25519 AAAA…``, as an inventory pins it."""
        self.fingerprint = fingerprint
        """``ssh-ed25519 SHA256:…``, as OpenSSH prints it."""
        super().__init__(sentence)


class HostGone(HostError):
    """A host answered before and does not answer any more."""


class ClusterLost(HostError):
    """The scheduler of a cluster answered before and does not answer any more."""


class ExpectationError(NetlabError):
    """An expectation of the matrix is not met."""

    exit_code = 5


class LockedError(NetlabError):
    """Another process has locked the run folder, or another run has locked a host."""

    exit_code = 6


class ProbeError(NetlabError):
    """A probe answered a request with an error record."""

    exit_code = 3

    def __init__(
        self,
        host: str,
        word: str,
        *,
        errno: int | None = None,
        detail: str = "",
        path_mtu_bytes: int | None = None,
    ) -> None:
        self.host = host
        self.word = word
        """An error word from the closed list in docs/protocol.md."""
        self.errno = errno
        self.detail = detail
        self.path_mtu_bytes = path_mtu_bytes
        """For ``message-too-long``: the longest packet that the host can send on this path."""
        number = f" (errno {errno})" if errno is not None else ""
        super().__init__(f"{host}: {word}{number}{': ' + detail if detail else ''}")


class Interrupted(NetlabError):
    """A signal ended the run; the signal's number gives the exit code (128 + number)."""

    def __init__(self, signal_number: int, message: str) -> None:
        self.signal_number = signal_number
        super().__init__(message)
