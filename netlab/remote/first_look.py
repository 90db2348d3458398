"""A first look at a POSIX host by one command: its system, its user, and an installed probe.

The command is ``sh``, which reads a script from its standard input. Therefore no word of a command
needs quoting for the login's own shell. The last line of the script executes the agent (the probe,
netlab's program on the host). A host that does not answer as expected is asked step by step instead
(system.py, deploy.py).
"""

from __future__ import annotations

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
"""Time limit of a look; a slower host is asked step by step."""

# The script contains the mark and the word after it in different places (``m=MARK``, ``$m:begin``),
# so a login that only echoes its input never prints ``MARK:begin``.
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
    """The facts of a first look, and the host's ``sh``, which waits for its script's last line."""

    platform: Platform
    user_id: int
    folder: str
    files: Mapping[str, FileSeen]
    """Path of the folder and of each probe in it → the file."""
    sums: Mapping[str, str]
    """Path of each probe → SHA-256 of its content."""
    old: frozenset[str]
    """Paths of the files whose last change is more than the given days ago."""
    mark: str
    process: SshProcess

    def holds(self, path: str, size_bytes: int, digest: str) -> bool:
        """Whether the probe is installed as deploy.py would install it, and was used recently.
        ``digest``: SHA-256 of its content, in hex.
        """
        folder, file = self.files.get(self.folder), self.files.get(path)
        if folder is None or file is None or path in self.old:
            return False
        return (
            stat.S_ISDIR(folder.mode)
            and folder.uid == self.user_id
            and not folder.mode & 0o022
            and stat.S_ISREG(file.mode)
            and bool(file.mode & 0o100)
            and file.size_bytes == size_bytes
            and self.sums.get(path) == digest
        )

    def become_agent(self, path: str) -> SshProcess | None:
        """Let the host's shell execute the agent; returns its process, ``None`` if that fails."""
        try:
            self.process.write(_BECOME.format(path=path).encode("ascii"), LOOK_S)
            # Wait for the agent: the shell would read whatever is sent before the agent starts.
            self.process.read_until(f"{self.mark}:agent", system.ANSWER_MOST_BYTES, LOOK_S)
        except OSError:
            self.end()
            return None
        return self.process

    def end(self) -> None:
        """End the shell."""
        self.process.kill()


def first_look(host: Host, transport: SshTransport, folder: str, days: int) -> FirstLook | None:
    """The facts from one command; ``None`` for a Windows host, if the command cannot be started, or
    if the host does not answer as expected and in time.

    ``folder``: the folder in which a probe would be. Files in it whose last change is more than
    ``days`` ago count as old. Raises HostGone if the connection ends.
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
        output = process.read_until(f"{mark}:end", system.ANSWER_MOST_BYTES, within_s)
    except OSError:
        process.kill()
        return None
    text = output.decode("utf-8", "replace").partition(f"{mark}:begin")[2]
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
    """The parts of a line ``DIGEST  PATH``."""
    digest, between, path = line.strip().partition("  ")
    return digest, between, path
