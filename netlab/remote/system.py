"""Which system a host runs and which shell takes its commands: asked, never guessed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from netlab.build.targets import machine
from netlab.errors import HostError, HostGone
from netlab.experiment.hosts import Host

if TYPE_CHECKING:
    from netlab.remote.ssh import SshTransport

ANSWER_S = 20.0
ANSWER_MOST_BYTES = 1 << 20

UNAME = ("uname", "-s", "-m")
"""Every POSIX system answers it, whatever the shell."""

ECHO = (
    "echo",
    *("%OS%", "%PROCESSOR_ARCHITECTURE%"),
    *("$env:OS", "$env:PROCESSOR_ARCHITECTURE"),
    *("$OS", "$PROCESSOR_ARCHITECTURE"),
)
"""Each shell of Windows puts values in place of the words that are its own, and of no others.

uname would not do: with Git's or Cygwin's programs in its path, cmd.exe answers that as well.
"""

SYSTEMS = {"Linux": "L", "Darwin": "M", "FreeBSD": "F"}
"""What `uname -s` says → letter."""


class Shell(StrEnum):
    """What takes the commands of a login."""

    POSIX = "a POSIX shell"
    CMD = "cmd.exe"
    POWERSHELL = "PowerShell"


@dataclass(frozen=True, slots=True)
class Platform:
    """What a host runs binaries of."""

    os: str
    """A letter, as in the inventory."""
    architecture: str
    """As `hello` names it: x86_64, aarch64, …"""
    shell: Shell = Shell.POSIX


_POSIX = re.compile(r"(Linux|Darwin|FreeBSD) (\w+)\s*\Z")
# At the end of what was said: the login may have printed something before it. PowerShell prints a
# line a word; the words that are nobody's are left as they are, or empty, or half eaten.
_WINDOWS = {
    Shell.CMD: re.compile(r"Windows_NT\s+(\w+)\s+\$env:OS\s+\$env:PROCESSOR_ARCHITECTURE\b"),
    Shell.POWERSHELL: re.compile(r"%OS%\s+%PROCESSOR_ARCHITECTURE%\s+Windows_NT\s+(\w+)\s*\Z"),
    Shell.POSIX: re.compile(
        r"%OS%\s+%PROCESSOR_ARCHITECTURE%\s+\S*:OS\s+\S*:PROCESSOR_ARCHITECTURE"
        r"\s+Windows_NT\s+(\w+)\s*\Z"
    ),
}


def ask(host: Host, transport: SshTransport) -> Platform:
    """The host's platform, in one round trip where the inventory is right about its system.

    HostError where nothing answers, or where the answers are of no system that netlab knows.
    """
    said = {}
    for command in (ECHO, UNAME) if host.os == "W" else (UNAME, ECHO):
        text, stderr = _answer(host, transport, command)
        found = _read(command, text)
        if found is not None:
            return found
        said[command] = text[-200:] or stderr[-200:]
    shown = repr(said[UNAME]) if said[UNAME] else "nothing"
    raise HostError(f"{host.name}: no system that netlab knows: `uname -s -m` said {shown}")


def _read(command: Sequence[str], said: str) -> Platform | None:
    if command == UNAME:
        found = _POSIX.search(said)
        return None if found is None else Platform(SYSTEMS[found[1]], machine(found[2]))
    for shell, pattern in _WINDOWS.items():
        found = pattern.search(said)
        if found is not None:
            return Platform("W", machine(found[1]), shell)
    return None


def _answer(host: Host, transport: SshTransport, command: Sequence[str]) -> tuple[str, str]:
    """What a harmless command says, on standard output and error."""
    process = transport.start(command)
    try:
        said = process.read_all(ANSWER_MOST_BYTES, ANSWER_S)
    except TimeoutError:
        raise HostError(
            f"{host.name}: the login works, and no command answers in {ANSWER_S:g} s; "
            "does its shell wait for something (.bashrc, ForceCommand)?"
        ) from None
    except OSError as error:
        raise HostGone(f"{host.name}: the SSH connection is gone ({error})") from None
    finally:
        process.kill()
    return said.decode("utf-8", "replace"), process.stderr_tail()
