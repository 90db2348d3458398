"""Files of a POSIX host by commands, for a host whose SFTP does not work."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

from netlab.errors import HostError
from netlab.remote.host_files import FileSeen
from netlab.terminal import excerpt

if TYPE_CHECKING:
    from netlab.remote.ssh import Answer, SshTransport

COMMAND_S = 60.0
"""Time limit of a command, which may transfer a whole probe."""
NOISE_MOST_BYTES = 1 << 20
"""Limit of a login's own output around an answer."""

# `ls -ldn`: type and permissions, perhaps a sign of access lists, links, owner, group, size, time,
# name.
_LISTED = re.compile(
    r"^([-dlbcps])([-rwxsStT]{9})[.+@]?[ \t]+\d+[ \t]+(\d+)[ \t]+\d+[ \t]+(\d+)[ \t](.*)$",
    re.MULTILINE,
)
_TYPES = {"d": stat.S_IFDIR, "l": stat.S_IFLNK, "-": stat.S_IFREG}


class CommandFiles:
    """Files of a POSIX host by simple commands, each on its own channel.

    The words of these commands need no quoting in any shell. Output of the login before or after an
    answer is ignored.
    """

    def __init__(self, transport: SshTransport, host_label: str) -> None:
        """``host_label``: the host in sentences."""
        self._transport = transport
        self._shown = host_label

    def seen(self, path: str) -> FileSeen:
        """As in HostFiles."""
        output = self._run("ls", "-ldn", path).text
        files = list(files_listed(output))
        if not files:
            raise OSError(f"`ls -ldn {path}` printed {output[-200:]!r}")
        return files[-1][1]

    def make_folder(self, path: str) -> None:
        """As in HostFiles."""
        self._run("mkdir", "-m", "700", path)

    def remove_folder(self, path: str) -> None:
        """As in HostFiles."""
        self._run("rmdir", path)

    def read(self, path: str, size_bytes: int) -> bytes:
        """As in HostFiles."""
        return self._run("cat", path, most_bytes=size_bytes + NOISE_MOST_BYTES).stdout

    def write(self, path: str, data: bytes) -> None:
        """As in HostFiles."""
        self._run("dd", f"of={path}", "bs=65536", data=data)

    def allow_start(self, path: str) -> None:
        """As in HostFiles."""
        self._run("chmod", "700", path)

    def rename(self, path: str, new: str) -> None:
        """As in HostFiles."""
        self._run("mv", "-f", path, new)

    def remove(self, path: str) -> None:
        """As in HostFiles."""
        self._run("rm", "-f", path)

    def touch(self, path: str) -> None:
        """As in HostFiles."""
        self._run("touch", path)

    def older(self, folder: str, days: int) -> list[str]:
        """As in HostFiles."""
        output = self._run("find", folder, "-type", "f", "-mtime", f"+{days}").text
        lines = (line.strip() for line in output.splitlines())
        start = f"{folder}/"
        return [line.removeprefix(start) for line in lines if line.startswith(start)]

    def _run(self, *argv: str, data: bytes = b"", most_bytes: int = NOISE_MOST_BYTES) -> Answer:
        """A command's answer; OSError with the end of its error output if it fails."""
        try:
            answer = self._transport.answer(
                argv, data=data, most_bytes=most_bytes, timeout_s=COMMAND_S
            )
        except TimeoutError:
            raise HostError(
                f"{self._shown}: `{' '.join(argv)}` takes longer than {COMMAND_S:g} s"
            ) from None
        if answer.status != 0:
            words = answer.stderr.splitlines() or [f"`{' '.join(argv)}` ends with {answer.status}"]
            raise OSError(excerpt(words[-1], 200))
        return answer


def files_listed(output: str) -> Iterator[tuple[str, FileSeen]]:
    """The last word and the file of each line of `ls -ldn`; the word is the path, except for a
    link.
    """
    for kind, permissions, uid, size, tail in _LISTED.findall(output):
        mode = _TYPES.get(kind, 0) | _mode(permissions)
        yield tail.split()[-1] if tail.split() else "", FileSeen(mode, int(uid), int(size))


def _mode(permissions: str) -> int:
    """``rwxr-x---`` → 0o750; the special bits are left out."""
    bits = "".join("1" if letter in "rwxst" else "0" for letter in permissions)
    return int(bits, 2)
