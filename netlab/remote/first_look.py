"""A first look at a POSIX host by one command: its system, its user, the probe that is there.

``sh`` on the host reads what it is to do from its standard input, so that a login's own shell has
nothing to quote, and becomes the agent at last. What does not answer as it should is no answer:
such a host is asked step by step (system.py, deploy.py).
"""

from __future__ import annotations

import hashlib
import secrets
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.errors import HostError, HostGone
from netlab.experiment.hosts import Host
from netlab.remote import system
from netlab.remote.command_files import files_listed
from netlab.remote.host_files import FileSeen
from netlab.remote.system import Platform, posix_platform, user_in

if TYPE_CHECKING:
    from netlab.remote.ssh import SshProcess, SshTransport

LOOK_S = 3.0
"""What a look may take; a host that is slower is asked step by step."""

# The mark and its words are apart here: a login that only repeats what it reads does not say them.
_SCRIPT = """\
m={mark}
echo "$m:begin"
uname -s -m
id -u
LC_ALL=C ls -ldn {folder} {folder}/netprobe-????????????????
find {folder} -type f -mtime +{days}
echo "$m:sums"
sha256sum {folder}/netprobe-???????????????? || shasum -a 256 {folder}/netprobe-????????????????
echo "$m:end"
"""
_BECOME = 'echo "$m:agent"; exec {path} agent\n'


@dataclass(frozen=True, slots=True)
class FirstLook:
    """What a host said, and its shell, which waits for a last line."""

    platform: Platform
    user_id: int
    folder: str
    files: Mapping[str, FileSeen]
    """The folder's path, and those of the probes in it."""
    sums: Mapping[str, str]
    """Path of each probe → SHA-256 of its content."""
    old: frozenset[str]
    """Paths of the files that nobody changed for days."""
    mark: str
    process: SshProcess

    def holds(self, path: str, binary: bytes) -> bool:
        """Whether the probe lies there as ``deploy`` would put it, and is of these days."""
        folder, file = self.files.get(self.folder), self.files.get(path)
        if folder is None or file is None or path in self.old:
            return False
        return (
            stat.S_ISDIR(folder.mode)
            and folder.uid == self.user_id
            and not folder.mode & 0o022
            and stat.S_ISREG(file.mode)
            and bool(file.mode & 0o100)
            and file.size_bytes == len(binary)
            and self.sums.get(path) == hashlib.sha256(binary).hexdigest()
        )

    def become_agent(self, path: str) -> SshProcess | None:
        """The host's shell as the agent; ``None`` where it does not take its place."""
        try:
            self.process.write(_BECOME.format(path=path).encode("ascii"), LOOK_S)
            # Nothing more may reach the shell: it would be the shell's, and not the agent's.
            self.process.read_until(f"{self.mark}:agent", system.ANSWER_MOST_BYTES, LOOK_S)
        except OSError:
            self.end()
            return None
        return self.process

    def end(self) -> None:
        """Let the shell go."""
        self.process.kill()


def first_look(host: Host, transport: SshTransport, folder: str, days: int) -> FirstLook | None:
    """What one command says; ``None`` for a host that says something else, or none in time.

    ``folder``: where a probe would be. Raises HostGone where the connection ends.
    """
    if host.os == "W":
        return None
    try:
        process = transport.start(("sh",))
    except HostGone:
        raise
    except HostError:
        return None
    mark = secrets.token_hex(8)
    script = _SCRIPT.format(mark=mark, folder=folder, days=days).encode("ascii")
    within_s = min(LOOK_S, system.COMMAND_S)
    try:
        process.write(script, within_s)
        said = process.read_until(f"{mark}:end", system.ANSWER_MOST_BYTES, within_s)
    except OSError:
        process.kill()
        return None
    text = said.decode("utf-8", "replace").partition(f"{mark}:begin")[2]
    about, _, sums = text.partition(f"{mark}:sums")
    platform, user_id = posix_platform(about), user_in(about)
    if platform is None or user_id is None:
        process.kill()
        return None
    return FirstLook(
        platform=platform,
        user_id=user_id,
        folder=folder,
        files=dict(files_listed(about)),
        sums={path: digest for digest, _, path in map(_words, sums.splitlines()) if path},
        old=frozenset(line.strip() for line in about.splitlines() if line.startswith(f"{folder}/")),
        mark=mark,
        process=process,
    )


def _words(line: str) -> tuple[str, str, str]:
    """``DIGEST  PATH`` in its parts."""
    digest, between, path = line.strip().partition("  ")
    return digest, between, path
