"""Accesses the files of a POSIX host by commands (ls, dd, cat), if its SFTP does not work."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from typing import TYPE_CHECKING

from netlab.errors import HostError
from netlab.remote.transport import FileSeen
from netlab.terminal import excerpt

if TYPE_CHECKING:
    from netlab.remote.ssh import Answer, SshTransport

COMMAND_S = 60.0
"""Time limit of a command, which may transfer a whole probe."""
NOISE_MOST_BYTES = 1 << 20
"""Maximum number of bytes that a login may print before and after an answer."""

# A line of `ls -ldn`: type and permissions, possibly a sign for access lists, number of links,
# owner, group, size, time, name.
_LISTED = re.compile(
    r"^([-dlbcps])([-rwxsStT]{9})[.+@]?[ \t]+\d+[ \t]+(\d+)[ \t]+\d+[ \t]+(\d+)[ \t](.*)$",
    re.MULTILINE,
)
_TYPES = {"d": stat.S_IFDIR, "l": stat.S_IFLNK, "-": stat.S_IFREG}


class CommandFiles:
    """The operations of HostFiles by simple commands, each on its own SSH channel.

    The words of these commands need no quoting in any shell. Output of the login before or after an
    answer is ignored.
    """

    def __init__(self, transport: SshTransport, host_label: str) -> None:
        """``host_label``: the name of the host in messages."""
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
        """Run a command and return its answer; OSError with its last error line if it fails."""
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
    """Yields the last word of each line of `ls -ldn`, and the attributes of the file.

    The last word is the path, except for a symbolic link.
    """
    for kind, permissions, uid, size, tail in _LISTED.findall(output):
        mode = _TYPES.get(kind, 0) | _mode(permissions)
        yield tail.split()[-1] if tail.split() else "", FileSeen(mode, int(uid), int(size))


def _mode(permissions: str) -> int:
    """``rwxr-x---`` → 0o750; the special bits are left out."""
    bits = "".join("1" if letter in "rwxst" else "0" for letter in permissions)
    return int(bits, 2)
