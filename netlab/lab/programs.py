"""The system programs that the lab uses: finds missing ones, and runs them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netlab.errors import HostError

PROGRAMS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "sshd": "openssh-server",
    "ssh-keygen": "openssh-client",
    "unshare": "util-linux",
    "mount": "mount",
    "sysctl": "procps",
}
"""Program → Debian package that contains it."""

WINDOWS_PROGRAMS = {
    "wine64": "wine64",
    "wineserver64": "wine64",
    "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64",
    "setpriv": "util-linux",
}
"""Programs that Windows hosts need in addition."""

SUDO_PROGRAMS = {"setpriv": "util-linux"}
"""Programs that a lab with ``--sudo`` needs in addition."""

FEDORA_PACKAGES = {
    "ip": "iproute",
    "tc": "iproute-tc",
    "ssh-keygen": "openssh",
    "mount": "util-linux-core",
    "sysctl": "procps-ng",
    "wine64": "wine-core",
    "wineserver64": "wine-core",
    "x86_64-w64-mingw32-gcc": "mingw64-gcc",
}
"""Program → Fedora package, if it has another name than Debian's."""

SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
"""PATH and the system's folders: after ``su`` without ``-``, root's PATH lacks these folders."""
WINE_SEARCH_PATH = os.pathsep.join(["/usr/lib/wine", SEARCH_PATH])
"""Debian has wine's binaries in /usr/lib/wine; wine in PATH is a script that prints a message."""

TIME_LIMIT_S = 20.0
"""Every program here takes a fraction of a second; one that hangs must not block netlab."""


@dataclass(frozen=True, slots=True)
class Missing:
    """Programs that are not installed. ``bool()`` of the object is false if nothing is missing."""

    programs: tuple[str, ...]
    packages: tuple[str, ...]
    """The Debian packages that contain the programs, each once."""

    def __bool__(self) -> bool:
        return bool(self.programs)

    def __add__(self, other: Missing) -> Missing:
        packages = dict.fromkeys(self.packages + other.packages)
        return Missing(self.programs + other.programs, tuple(packages))

    @property
    def command(self) -> str:
        """The command that installs the programs on Debian, Fedora or a derivative."""
        debian = f"sudo apt-get install {' '.join(self.packages)}"
        names = {**PROGRAMS, **WINDOWS_PROGRAMS, **SUDO_PROGRAMS, **FEDORA_PACKAGES}
        fedora = f"sudo dnf install {' '.join(dict.fromkeys(names[p] for p in self.programs))}"
        if has_dnf():
            return fedora
        if shutil.which("apt-get", path=SEARCH_PATH):
            return debian
        return f"{debian} (Fedora: {fedora})"


def has_dnf() -> bool:
    """Whether this machine uses packages of Fedora or a derivative."""
    apt, dnf = (shutil.which(name, path=SEARCH_PATH) for name in ("apt-get", "dnf"))
    return dnf is not None and apt is None


def missing_packages(search_path: str = SEARCH_PATH) -> Missing:
    """Programs that every lab needs and ``search_path`` does not have."""
    return _missing(PROGRAMS, search_path)


def missing_for_windows(search_path: str = WINE_SEARCH_PATH) -> Missing:
    """Programs that Windows hosts need in addition and ``search_path`` does not have."""
    return _missing(WINDOWS_PROGRAMS, search_path)


def missing_for_sudo(search_path: str = SEARCH_PATH) -> Missing:
    """Programs that a lab with ``--sudo`` needs in addition and ``search_path`` does not have."""
    return _missing(SUDO_PROGRAMS, search_path)


def _missing(packages_of: Mapping[str, str], search_path: str) -> Missing:
    absent = tuple(name for name in packages_of if shutil.which(name, path=search_path) is None)
    packages = tuple(dict.fromkeys(packages_of[name] for name in absent))
    return Missing(absent, packages)


def program(name: str, search_path: str = SEARCH_PATH) -> str:
    """The absolute path of a program. sshd needs its own path to execute itself again."""
    path = shutil.which(name, path=search_path)
    if path is None:
        shortage = Missing((name,), ((PROGRAMS | WINDOWS_PROGRAMS | SUDO_PROGRAMS)[name],))
        raise HostError(f"the program {name} is missing: {shortage.command}")
    return path


def environment() -> dict[str, str]:
    """An environment in which messages are English and the system's programs are found."""
    return {**os.environ, "PATH": SEARCH_PATH, "LC_ALL": "C"}


def run(*argv: str) -> str:
    """Run a program to its end and return its standard output.

    Raises HostError with one line: the command, and the last line that it printed.
    """
    finished = _run(argv)
    if finished.returncode:
        output = finished.stderr.strip() or finished.stdout.strip()
        lines = output.splitlines() or [f"exit status {finished.returncode}"]
        raise HostError(f"`{' '.join(argv)}` failed: {lines[-1]}")
    return finished.stdout


def succeeds(*argv: str) -> bool:
    """Whether a program ends with status 0; its output is ignored."""
    return _run(argv).returncode == 0


def _run(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [program(argv[0]), *argv[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_S,
            env=environment(),
            check=False,
            close_fds=False,  # the program shares the lock on all labs, see state.locked
        )
    except subprocess.TimeoutExpired:
        raise HostError(f"`{' '.join(argv)}` gave no answer in {TIME_LIMIT_S:g} s") from None
