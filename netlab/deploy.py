"""Gets the right netprobe onto a host: under its content hash, verified, kept for the next run."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.build import local_probe
from netlab.errors import HostError
from netlab.hosts import OS_NAMES, Host, local_os
from netlab.transport import Transport

if TYPE_CHECKING:
    import paramiko

    from netlab.ssh import SshTransport

PLATFORM_S = 20.0
ANSWER_MOST_BYTES = 1 << 20
FALLBACKS = ("/var/tmp", "/tmp", "/dev/shm")  # noqa: S108  (private and checked, see _make_private)
SYSTEMS = {"Linux": "L", "Darwin": "M", "FreeBSD": "F"}
"""What `uname -s` says → letter."""

MACHINES = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64"}
"""Other names of an architecture."""

Say = Callable[[str], None] | None


@dataclass(frozen=True, slots=True)
class Platform:
    """What a host runs binaries of."""

    os: str
    """A letter, as in the inventory."""
    architecture: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where the probe lies ready on a host."""

    argv: tuple[str, ...]
    """Starts its agent. Over SSH the words mean the same to every shell, without quoting."""
    binary: bytes
    """What lies there."""


def places(host: Host, transport: Transport, on_event: Say, refusals: list[str]) -> Iterator[Place]:
    """Places from which the agent can be started, the best first.

    The next is for when the probe does not start from the one before: a directory may be full,
    read-only, or mounted noexec. Those that cannot hold it are added to ``refusals`` and passed
    over. HostError where there is no probe for the host, or no way to put one there.
    """
    if host.local:
        path = local_probe(on_event)
        yield Place((str(path), "agent"), path.read_bytes())
        return
    from netlab.ssh import SshTransport

    assert isinstance(transport, SshTransport)  # noqa: S101  (told to the type checker)
    binary = _binary_for(host, _platform(host, transport), on_event)
    name = f"netprobe-{hashlib.sha256(binary).hexdigest()[:16]}"
    with contextlib.closing(transport.sftp()) as sftp:
        for directory in _directories(sftp):
            try:
                _put(sftp, directory, name, binary)
            except (OSError, EOFError) as error:
                refusals.append(f"{directory}: {str(error) or type(error).__name__}")
                continue
            yield Place((f"{directory}/{name}", "agent"), binary)


def _platform(host: Host, transport: SshTransport) -> Platform:
    """Asked, not guessed: one harmless command, which every POSIX system answers."""
    process = transport.start(["uname", "-s", "-m"])
    try:
        said = process.read_all(ANSWER_MOST_BYTES, PLATFORM_S)
    except TimeoutError:
        raise HostError(
            f"{host.name}: the login works, and no command answers in {PLATFORM_S:g} s; "
            "does its shell wait for something (.bashrc, ForceCommand)?"
        ) from None
    finally:
        process.kill()
    # At the end of a line: the login may have printed a prompt before it.
    found = re.search(rb"(Linux|Darwin|FreeBSD) (\w+)\s*\Z", said)
    if found is not None:
        system, machine = found[1].decode(), found[2].decode().lower()
        return Platform(SYSTEMS[system], MACHINES.get(machine, machine))
    last = said.decode("utf-8", "replace")[-200:] or process.stderr_tail()[-200:]
    shown = repr(last) if last else "nothing"
    windows = "; there is no probe for Windows here" if host.os == "W" else ""
    raise HostError(
        f"{host.name}: no system that netlab knows: `uname -s -m` said {shown}{windows}"
    )


def _binary_for(host: Host, target: Platform, on_event: Say) -> bytes:
    if target.os != host.os:
        raise HostError(
            f"{host.name} runs {OS_NAMES[target.os]}, and the inventory says `os: {host.os}`"
        )
    machine = platform.machine().lower()
    here = Platform(local_os(), MACHINES.get(machine, machine))
    if target != here:
        raise HostError(
            f"{host.name}: there is no probe for {OS_NAMES[target.os]} on {target.architecture} "
            f"here, only for {OS_NAMES[here.os]} on {here.architecture}"
        )
    return local_probe(on_event).read_bytes()


def _directories(sftp: paramiko.SFTPClient) -> Iterator[str]:
    """Places to try: the home's cache, relative to where a login starts, then a private one."""
    yield ".cache/netlab"
    owner = sftp.stat(".").st_uid
    for directory in FALLBACKS:
        yield f"{directory}/netlab-{owner}"


def _put(sftp: paramiko.SFTPClient, directory: str, name: str, binary: bytes) -> None:
    """The binary as ``directory/name``, whole or not at all; OSError where it cannot be."""
    _make_private(sftp, directory)
    path = f"{directory}/{name}"
    if _is_there(sftp, path, binary):
        return
    aside = f"{path}.{secrets.token_hex(4)}"
    try:
        # "x": never through a link or into a file that somebody else laid there.
        with sftp.open(aside, "wx") as file:
            file.set_pipelined(True)
            file.write(binary)
        sftp.chmod(aside, 0o700)
        if not _is_there(sftp, aside, binary):
            raise OSError(f"{aside} does not hold what was written")
        sftp.posix_rename(aside, path)
    except (OSError, EOFError):
        with contextlib.suppress(OSError):
            sftp.remove(aside)
        raise


def _make_private(sftp: paramiko.SFTPClient, directory: str) -> None:
    """Make the directory where it is missing, and refuse one that somebody else could write."""
    path = "/" if directory.startswith("/") else ""
    for part in directory.strip("/").split("/"):
        path = os.path.join(path, part)  # noqa: PTH118  (a path of the host, not of this machine)
        try:
            sftp.mkdir(path, 0o700)
        except OSError:
            sftp.lstat(path)
    seen = sftp.lstat(directory)
    mode = seen.st_mode or 0
    if not stat.S_ISDIR(mode):
        raise OSError(f"{directory} is no directory (a link is not followed)")
    if seen.st_uid != sftp.stat(".").st_uid or mode & 0o022:
        raise OSError(f"{directory} belongs to somebody else, or others may write there")


def _is_there(sftp: paramiko.SFTPClient, path: str, binary: bytes) -> bool:
    """Whether the file at ``path`` is this binary, byte by byte, and may be started."""
    try:
        seen = sftp.lstat(path)
        mode = seen.st_mode or 0
        if not stat.S_ISREG(mode) or not mode & 0o100 or seen.st_size != len(binary):
            return False
        with sftp.open(path, "rb") as file:
            file.prefetch(len(binary))
            return hashlib.sha256(file.read()).digest() == hashlib.sha256(binary).digest()
    except OSError:
        return False
