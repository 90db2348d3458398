"""Which system a host runs and which shell takes its commands: asked, never guessed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from netlab.build.targets import machine
from netlab.errors import HostError
from netlab.experiment.hosts import Host

if TYPE_CHECKING:
    from netlab.remote.ssh import SshTransport

COMMAND_S = 20.0
"""What a harmless command may take, from its start to its end."""
ANSWER_MOST_BYTES = 1 << 20

UNAME = ("uname", "-s", "-m")
"""Every POSIX system answers it, whatever the shell."""

ID = ("id", "-u")

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


# A login may have printed something before an answer, or after it. The last line that is an answer
# and nothing else is taken, or one that ends like it: a prompt may stand before it.
_POSIX = tuple(
    re.compile(start + r"(Linux|Darwin|FreeBSD) ([A-Za-z]\w*)[ \t\r]*$", re.MULTILINE)
    for start in ("^", "")
)
_NUMBER = re.compile(r"^(\d{1,10})[ \t\r]*$", re.MULTILINE)
# PowerShell prints a line a word; the words that are nobody's are left as they are, or empty, or
# half eaten.
_WINDOWS = {
    Shell.CMD: re.compile(r"Windows_NT\s+(\w+)\s+\$env:OS\s+\$env:PROCESSOR_ARCHITECTURE\b"),
    Shell.POWERSHELL: re.compile(
        r"%OS%\s+%PROCESSOR_ARCHITECTURE%\s+Windows_NT\s+(\w+)[ \t\r]*$", re.MULTILINE
    ),
    Shell.POSIX: re.compile(
        r"%OS%\s+%PROCESSOR_ARCHITECTURE%\s+\S*:OS\s+\S*:PROCESSOR_ARCHITECTURE"
        r"\s+Windows_NT\s+(\w+)[ \t\r]*$",
        re.MULTILINE,
    ),
}


def ask(host: Host, transport: SshTransport) -> Platform:
    """The host's platform, in one round trip where the inventory is right about its system.

    HostError where nothing answers, or where the answers are of no system that netlab knows.
    """
    answers = {}
    for command in (ECHO, UNAME) if host.os == "W" else (UNAME, ECHO):
        text, stderr = _answer(host, transport, command)
        found = _read(command, text)
        if found is not None:
            return found
        answers[command] = text[-200:] or stderr[-200:]
    shown = repr(answers[UNAME]) if answers[UNAME] else "nothing"
    raise HostError(f"{host.name}: no system that netlab knows: `uname -s -m` said {shown}")


def user_id(transport: SshTransport) -> int | None:
    """The number of the user that a login is; ``None`` where the host does not tell."""
    try:
        answer = transport.answer(ID, most_bytes=ANSWER_MOST_BYTES, timeout_s=COMMAND_S)
    except TimeoutError:
        return None
    return user_in(answer.text)


def user_in(answer: str) -> int | None:
    """The number in what `id -u` answers, with what else was printed."""
    found = _NUMBER.findall(answer)
    return int(found[-1]) if found else None


def posix_platform(answer: str) -> Platform | None:
    """The platform in what `uname -s -m` answers, with what else was printed."""
    found = next((each for pattern in _POSIX if (each := pattern.findall(answer))), None)
    return None if found is None else Platform(SYSTEMS[found[-1][0]], machine(found[-1][1]))


def _read(command: Sequence[str], answer: str) -> Platform | None:
    if command == UNAME:
        return posix_platform(answer)
    for shell, pattern in _WINDOWS.items():
        architectures = pattern.findall(answer)
        if architectures:
            return Platform("W", machine(architectures[-1]), shell)
    return None


def _answer(host: Host, transport: SshTransport, command: Sequence[str]) -> tuple[str, str]:
    """What a harmless command says, on standard output and error."""
    try:
        answer = transport.answer(command, most_bytes=ANSWER_MOST_BYTES, timeout_s=COMMAND_S)
    except TimeoutError as error:
        so_far = f", which said {str(error)!r} by then" if str(error) else ""
        raise HostError(
            f"{host.name}: the login works, and no command ends in {COMMAND_S:g} s{so_far}; "
            "does its shell wait for something (.bashrc, ForceCommand)?"
        ) from None
    return answer.text, answer.stderr
