"""Gets the right netprobe onto a host: under its content hash, verified, kept for the next run."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.build.local import OnEvent, local_probe, probe_for
from netlab.errors import HostError, UsageError
from netlab.experiment.hosts import OS_NAMES, Host
from netlab.remote.system import Platform, Shell, ask
from netlab.remote.transport import Transport

if TYPE_CHECKING:
    import paramiko

CACHE = ".cache/netlab"
"""Relative to where a login starts, the home."""
FALLBACKS = ("/var/tmp", "/tmp", "/dev/shm")  # noqa: S108  (private and checked, see _make_private)


@dataclass(frozen=True, slots=True)
class ProbePlace:
    """Where the probe lies ready on a host."""

    argv: tuple[str, ...]
    """Starts its agent. Over SSH the words mean the same to every shell, without quoting."""
    binary: bytes
    """What lies there."""
    path: str
    """The file as the host's own system names it, for sentences."""


def places(
    host: Host, transport: Transport, on_event: OnEvent, refusals: list[str]
) -> Iterator[ProbePlace]:
    """Places from which the agent can be started, the best first.

    The next is for when the probe does not start from the one before: a directory may be full,
    read-only, or mounted noexec. Those that cannot hold it are added to ``refusals`` and passed
    over. HostError where there is no probe for the host, or no way to put one there.
    """
    if host.local:
        local = local_probe(on_event)
        yield ProbePlace((str(local), "agent"), local.read_bytes(), str(local))
        return
    from netlab.remote.ssh import SshTransport

    assert isinstance(transport, SshTransport)  # noqa: S101  (told to the type checker)
    target = ask(host, transport)
    binary = _binary_for(host, target, on_event)
    name = f"netprobe-{hashlib.sha256(binary).hexdigest()[:16]}"
    with transport.sftp() as sftp:
        if target.os == "W":
            yield from _windows_places(sftp, target.shell, f"{name}.exe", binary, refusals)
            return
        for directory in _directories(sftp):
            try:
                _put(sftp, directory, name, binary)
            except (OSError, EOFError) as error:
                refusals.append(f"{directory}: {str(error) or type(error).__name__}")
                continue
            path = f"{directory}/{name}"
            yield ProbePlace((path, "agent"), binary, path)


def _windows_places(
    sftp: paramiko.SFTPClient, shell: Shell, name: str, binary: bytes, refusals: list[str]
) -> Iterator[ProbePlace]:
    """The home's cache, by its path from the home and, where that does not do, by its whole path.

    A login's profile may have gone to another folder. There is no second folder: one that others
    could have prepared cannot be told from a private one, since SFTP shows no owners there.
    """
    try:
        _put(sftp, CACHE, name, binary, windows=True)
        home = sftp.normalize(".")
    except (OSError, EOFError) as error:
        refusals.append(f"{CACHE}: {str(error) or type(error).__name__}")
        return
    relative = f"{CACHE}/{name}"
    whole = f"{home.rstrip('/')}/{relative}"
    shown = whole.lstrip("/").replace("/", "\\")
    # cmd.exe takes a slash for the sign of an option, a POSIX shell eats backslashes.
    word = relative if shell is Shell.POSIX else relative.replace("/", "\\")
    yield ProbePlace((word, "agent"), binary, shown)
    if re.fullmatch(r"/[A-Za-z]:[\w./-]+", whole, re.ASCII):
        yield ProbePlace((whole[1:] if shell is Shell.POSIX else shown, "agent"), binary, shown)


def _binary_for(host: Host, target: Platform, on_event: OnEvent) -> bytes:
    if target.os != host.os:
        raise HostError(
            f"{host.name} runs {OS_NAMES[target.os]}, and the inventory says `os: {host.os}`"
        )
    try:
        return probe_for(target.os, target.architecture, on_event).read_bytes()
    except UsageError as error:
        raise HostError(f"{host.name}: {error}") from None


def _directories(sftp: paramiko.SFTPClient) -> Iterator[str]:
    """Places to try: the home's cache, relative to where a login starts, then a private one."""
    yield CACHE
    owner = sftp.stat(".").st_uid
    for directory in FALLBACKS:
        yield f"{directory}/netlab-{owner}"


def _put(
    sftp: paramiko.SFTPClient, directory: str, name: str, binary: bytes, *, windows: bool = False
) -> None:
    """The binary as ``directory/name``, whole or not at all; OSError where it cannot be.

    ``windows``: a host whose SFTP knows neither owners nor modes, only access lists.
    """
    if windows:
        _make_folder(sftp, directory)
    else:
        _make_private(sftp, directory)
    path = f"{directory}/{name}"
    if _is_there(sftp, path, binary, windows=windows):
        return
    aside = f"{path}.{secrets.token_hex(4)}"
    try:
        # "x": never through a link or into a file that somebody else laid there.
        with sftp.open(aside, "wx") as file:
            file.set_pipelined(True)
            file.write(binary)
        if not windows:
            sftp.chmod(aside, 0o700)
        if not _is_there(sftp, aside, binary, windows=windows):
            why = " (did a virus scanner take it away?)" if windows else ""
            raise OSError(f"{aside} does not hold what was written{why}")
        _rename(sftp, aside, path)
    except (OSError, EOFError):
        with contextlib.suppress(OSError):
            sftp.remove(aside)
        # Two runs at once: the other one was first, and its probe runs already.
        if not _is_there(sftp, path, binary, windows=windows):
            raise


def _rename(sftp: paramiko.SFTPClient, aside: str, path: str) -> None:
    """In one step, over what may be there; SFTP servers without that have a plain rename."""
    try:
        sftp.posix_rename(aside, path)
    except OSError:
        with contextlib.suppress(OSError):
            sftp.remove(path)
        sftp.rename(aside, path)


def _make_folder(sftp: paramiko.SFTPClient, directory: str) -> paramiko.SFTPAttributes:
    """Make the directory and those above it where they are missing; never follows a link."""
    path = "/" if directory.startswith("/") else ""
    for part in directory.strip("/").split("/"):
        path = os.path.join(path, part)  # noqa: PTH118  (a path of the host, not of this machine)
        try:
            sftp.mkdir(path, 0o700)
        except OSError:
            sftp.lstat(path)
    seen = sftp.lstat(directory)
    if not stat.S_ISDIR(seen.st_mode or 0):
        raise OSError(f"{directory} is no directory (a link is not followed)")
    return seen


def _make_private(sftp: paramiko.SFTPClient, directory: str) -> None:
    """The same, and refuse a directory that somebody else could write."""
    seen = _make_folder(sftp, directory)
    if seen.st_uid != sftp.stat(".").st_uid or (seen.st_mode or 0) & 0o022:
        raise OSError(f"{directory} belongs to somebody else, or others may write there")


def _is_there(
    sftp: paramiko.SFTPClient, path: str, binary: bytes, *, windows: bool = False
) -> bool:
    """Whether the file at ``path`` is this binary, byte by byte, and may be started."""
    try:
        seen = sftp.lstat(path)
        mode = seen.st_mode or 0
        may_start = windows or mode & 0o100
        if not stat.S_ISREG(mode) or not may_start or seen.st_size != len(binary):
            return False
        with sftp.open(path, "rb") as file:
            file.prefetch(len(binary))
            return hashlib.sha256(file.read()).digest() == hashlib.sha256(binary).digest()
    except OSError:
        return False
