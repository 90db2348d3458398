"""The system of a host and the shell that runs its commands, as the host itself reports them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from netlab.build.compiling import machine
from netlab.errors import HostError
from netlab.experiment.hosts import Host

if TYPE_CHECKING:
    from netlab.remote.ssh import SshTransport

COMMAND_S = 20.0
"""Time limit of a simple command, from its start to its end."""
ANSWER_MOST_BYTES = 1 << 20

UNAME = ("uname", "-s", "-m")
"""Command that every POSIX system answers in any shell."""

ID = ("id", "-u")

ECHO = (
    "echo",
    *("%OS%", "%PROCESSOR_ARCHITECTURE%"),
    *("$env:OS", "$env:PROCESSOR_ARCHITECTURE"),
    *("$OS", "$PROCESSOR_ARCHITECTURE"),
)
"""Command for Windows: each shell replaces only the words in its own syntax by their values.

uname cannot identify the shell: cmd.exe runs it, too, if Git's or Cygwin's programs are installed.
"""

SYSTEMS = {"Linux": "L", "Darwin": "M", "FreeBSD": "F"}
"""Output of `uname -s` → letter of the system."""


class Shell(StrEnum):
    """The shell that runs the commands of a login."""

    POSIX = "a POSIX shell"
    CMD = "cmd.exe"
    POWERSHELL = "PowerShell"


@dataclass(frozen=True, slots=True)
class Platform:
    """System, architecture and shell of a host."""

    os: str
    """Letter of the operating system, as in the inventory, such as ``L`` for Linux."""
    architecture: str
    """As in `hello`: x86_64, aarch64, …"""
    shell: Shell = Shell.POSIX


# A login may print something before an answer or after it. The last line that is exactly an answer
# is taken; without one, the last line that ends with an answer, because a prompt may precede it.
_POSIX = tuple(
    re.compile(start + r"(Linux|Darwin|FreeBSD) ([A-Za-z]\w*)[ \t\r]*$", re.MULTILINE)
    for start in ("^", "")
)
_NUMBER = re.compile(r"^(\d{1,10})[ \t\r]*$", re.MULTILINE)
# PowerShell prints one word per line. Words in the syntax of other shells stay as they are, become
# empty, or are changed in part.
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
    """The host's platform, in one round trip if the inventory has the right system.

    HostError if nothing answers, or if the answers are of no known system.
    """
    answers = {}
    for command in (ECHO, UNAME) if host.os == "W" else (UNAME, ECHO):
        text, stderr = _answer(host, transport, command)
        platform = _read(command, text)
        if platform is not None:
            return platform
        answers[command] = text[-200:] or stderr[-200:]
    uname_words = repr(answers[UNAME]) if answers[UNAME] else "nothing"
    raise HostError(f"{host.name}: unknown system: `uname -s -m` printed {uname_words}")


def user_id(transport: SshTransport) -> int | None:
    """The user id of the login; ``None`` if the host does not report it."""
    try:
        answer = transport.answer(ID, most_bytes=ANSWER_MOST_BYTES, timeout_s=COMMAND_S)
    except TimeoutError:
        return None
    return user_in(answer.text)


def user_in(answer: str) -> int | None:
    """The number in the output of `id -u`, which may contain other lines."""
    numbers = _NUMBER.findall(answer)
    return int(numbers[-1]) if numbers else None


def posix_platform(answer: str) -> Platform | None:
    """The platform in the output of `uname -s -m`, which may contain other lines."""
    matches = next((lines for pattern in _POSIX if (lines := pattern.findall(answer))), None)
    return None if matches is None else Platform(SYSTEMS[matches[-1][0]], machine(matches[-1][1]))


def _read(command: Sequence[str], answer: str) -> Platform | None:
    if command == UNAME:
        return posix_platform(answer)
    for shell, pattern in _WINDOWS.items():
        architectures = pattern.findall(answer)
        if architectures:
            return Platform("W", machine(architectures[-1]), shell)
    return None


def _answer(host: Host, transport: SshTransport, command: Sequence[str]) -> tuple[str, str]:
    """Standard output and error of a simple command."""
    try:
        answer = transport.answer(command, most_bytes=ANSWER_MOST_BYTES, timeout_s=COMMAND_S)
    except TimeoutError as error:
        so_far = f" (output so far: {str(error)!r})" if str(error) else ""
        raise HostError(
            f"{host.name}: the login works, but no command ends in {COMMAND_S:g} s{so_far}; "
            "does its shell wait for something (.bashrc, ForceCommand)?"
        ) from None
    return answer.text, answer.stderr
