"""Installs the right netprobe on a host: named by its hash, verified, kept for later runs."""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netlab.build.binaries import OnEvent, local_probe, probe_for
from netlab.errors import HostError, HostGone, HostRefused, UsageError
from netlab.experiment.hosts import OS_NAMES, Host
from netlab.remote.command_files import CommandFiles
from netlab.remote.first_look import FirstLook, first_look
from netlab.remote.host_files import HostFiles
from netlab.remote.system import Platform, Shell, ask, user_id
from netlab.remote.transport import Process, Transport

if TYPE_CHECKING:
    from netlab.remote.sftp import Sftp
    from netlab.remote.ssh import SshTransport

CACHE = ".cache/netlab"
"""Folder of the probe, relative to the home directory, in which a login starts."""
FALLBACKS = ("/var/tmp", "/tmp", "/dev/shm")  # noqa: S108  (private and checked, see _make_private)
DEPLOY_S = 120.0
"""Time limit for all places together; the time that the probe takes to start does not count."""
UPLOAD_NAME = re.compile(r"netprobe-[0-9a-f]{16}(?:\.exe)?\.[0-9a-f]{8}")
"""Name of a file that an interrupted upload left."""
PROBE_NAME = re.compile(r"netprobe-[0-9a-f]{16}(?:\.exe)?")
PROBE_KEPT_S = 10.0
"""Time for which a probe that was found on this machine is used without another look at it."""
UPLOAD_DAYS = 1
PROBE_DAYS = 90
"""A probe that no run has used for this many days is removed: it belongs to an old version."""


@dataclass(frozen=True, slots=True)
class ProbePlace:
    """A place on a host where the probe is installed."""

    argv: tuple[str, ...]
    """Command that starts the agent. Its words need no quoting in any shell of the host."""
    binary: bytes
    """Content of the file."""
    path: str
    """Path of the file as the host's system writes it, for messages."""
    process: Process | None = None
    """The agent, if it was already started."""


def places(
    host: Host, transport: Transport, on_event: OnEvent, refusals: list[str]
) -> Iterator[ProbePlace]:
    """Yields the places from which the agent can be started, the best first.

    If the probe does not start from a place, the caller takes the next one: a directory may be
    full, read-only or mounted noexec. Directories that cannot hold the probe are added to
    ``refusals`` and skipped. HostError if there is no probe for the host, or if the probe cannot be
    copied there in time. While the caller tries a place, this function keeps no session open on the
    host, because the host may allow only one.
    """
    if host.local:
        local = _found(local_probe, (), on_event)
        yield ProbePlace((str(local.path), "agent"), local.binary, str(local.path))
        return
    from netlab.remote.ssh import SshTransport

    assert isinstance(transport, SshTransport)  # noqa: S101  (for the type checker)
    look = first_look(host, transport, CACHE, UPLOAD_DAYS)
    target = ask(host, transport) if look is None else look.platform
    probe = _probe_for(host, target, on_event)
    binary, name = probe.binary, f"netprobe-{probe.digest[:16]}"
    if target.os == "W":
        yield from _windows_places(transport, target.shell, f"{name}.exe", binary, refusals)
        return
    if look is not None:
        yield from _found_at_first(look, f"{CACHE}/{name}", probe)
    files = _Files(host.name, transport, on_event)
    uid = files.user_id() if look is None else look.user_id
    for directory in (CACHE, *(f"{folder}/netlab-{uid}" for folder in FALLBACKS)):
        try:
            files.use(lambda client, at=directory: _put(client, at, name, binary, uid))  # type: ignore[misc]
        except (OSError, EOFError) as error:
            refusals.append(f"{directory}: {str(error) or type(error).__name__}")
            continue
        path = f"{directory}/{name}"
        yield ProbePlace((path, "agent"), binary, path)


def _found_at_first(look: FirstLook, path: str, probe: _Probe) -> Iterator[ProbePlace]:
    """Yields the place of the probe that an earlier run installed, if the first look found it."""
    if not look.holds(path, len(probe.binary), probe.digest):
        look.end()
        return
    process = look.become_agent(path)
    if process is not None:
        yield ProbePlace((path, "agent"), probe.binary, path, process)


class _Files:
    """A POSIX host's files: over SFTP, or by commands if SFTP does not work."""

    def __init__(self, host_label: str, transport: SshTransport, on_event: OnEvent) -> None:
        self._shown = host_label
        self._transport = transport
        self._on_event = on_event
        self._give_up = time.monotonic() + DEPLOY_S
        self._by_commands = False

    def use(self, work: Callable[[HostFiles], None]) -> None:
        """Do ``work`` over SFTP; if SFTP fails meanwhile, repeat ``work`` by commands."""
        from netlab.remote.sftp import SftpBroken

        left_s = max(0.0, self._give_up - time.monotonic())
        with self._transport.deadline(left_s, _too_long()):
            if not self._by_commands:
                try:
                    with self._transport.sftp() as sftp:
                        work(sftp)
                        return
                except SftpBroken as broken:
                    if self._transport.closed:
                        raise HostGone(f"{self._shown}: the connection was closed") from None
                    self._by_commands = True
                    if self._on_event is not None:
                        self._on_event(f"{broken}: the probe is copied by commands instead")
            work(CommandFiles(self._transport, self._shown))

    def user_id(self) -> int:
        """The user id of the login; if it is not reported, the id of the home's owner. The owner is
        only the second choice: the home may belong to another user, or may not exist.
        """
        number = user_id(self._transport)
        if number is not None:
            return number
        owners: list[int | None] = []
        self.use(lambda files: owners.append(files.seen(".").uid))
        if owners[-1] is None:
            raise HostError(f"{self._shown}: `id -u` printed no number")
        return owners[-1]


def _too_long() -> str:
    return f"the probe could not be copied there in {DEPLOY_S:g} s"


def _windows_places(
    transport: SshTransport, shell: Shell, name: str, binary: bytes, refusals: list[str]
) -> Iterator[ProbePlace]:
    """Yields the cache in the home: first with its path relative to the home, then with its
    absolute path, because a login's profile may change to another folder.

    No other folder is tried: SFTP shows no owners on Windows, so a folder that another user
    prepared would look like a private folder.
    """
    in_time = transport.deadline(DEPLOY_S, _too_long())
    with in_time, transport.sftp() as sftp:
        home = _windows_home(sftp, name, binary, refusals)
    if home is None:
        return
    relative = f"{CACHE}/{name}"
    full_path = f"{home.rstrip('/')}/{relative}"
    windows_path = full_path.lstrip("/").replace("/", "\\")
    # cmd.exe takes a slash for an option; a POSIX shell removes backslashes.
    word = relative if shell is Shell.POSIX else relative.replace("/", "\\")
    yield ProbePlace((word, "agent"), binary, windows_path)
    if re.fullmatch(r"/[A-Za-z]:[\w./-]+", full_path, re.ASCII):
        yield ProbePlace(
            (full_path[1:] if shell is Shell.POSIX else windows_path, "agent"), binary, windows_path
        )


def _windows_home(sftp: Sftp, name: str, binary: bytes, refusals: list[str]) -> str | None:
    """Put the probe into the cache of the home. Returns the home's path; ``None`` on a refusal."""
    try:
        _put(sftp, CACHE, name, binary, None)
        return sftp.whole_path(".")
    except (OSError, EOFError) as error:
        refusals.append(f"{CACHE}: {str(error) or type(error).__name__}")
        return None


@dataclass(frozen=True, slots=True)
class _Probe:
    """A probe on this machine."""

    path: Path
    binary: bytes
    digest: str
    """SHA-256 of the binary, in hex."""
    until_s: float
    """Time of the monotonic clock until which it is used for further hosts."""


_probes: dict[tuple[Callable[..., Path], tuple[str, ...]], _Probe] = {}


def _found(find: Callable[..., Path], words: tuple[str, ...], on_event: OnEvent) -> _Probe:
    """The probe that ``find`` finds. Hosts that are connected at the same time share it: a thousand
    hosts need neither a thousand copies nor a thousand looks at the sources.
    """
    probe = _probes.get((find, words))
    if probe is None or time.monotonic() > probe.until_s:
        path = find(*words, on_event)
        binary = path.read_bytes()
        digest = hashlib.sha256(binary).hexdigest()
        probe = _Probe(path, binary, digest, time.monotonic() + PROBE_KEPT_S)
        _probes[find, words] = probe
    return probe


def _probe_for(host: Host, target: Platform, on_event: OnEvent) -> _Probe:
    if host.os and target.os != host.os:
        raise HostError(
            f"{host.name} runs {OS_NAMES[target.os]}, and the inventory says `os: {host.os}`"
        )
    try:
        return _found(probe_for, (target.os, target.architecture), on_event)
    except UsageError as error:
        # A person has to correct this fault on the controller: waiting for the host does not help.
        raise HostRefused(f"{host.name}: {error}") from None


def _put(files: HostFiles, directory: str, name: str, binary: bytes, uid: int | None) -> None:
    """Write the binary as ``directory/name``, completely or not at all; OSError if that fails.

    ``uid``: the login's user; ``None`` for Windows, whose SFTP knows neither owners nor modes, only
    access lists. After a failure, no new folder stays behind.
    """
    new_folders: list[str] = []
    try:
        _make_private(files, directory, uid, new_folders)
        old = _older(files, directory, UPLOAD_DAYS)
        _fill(files, f"{directory}/{name}", binary, windows=uid is None)
    except OSError:
        for path in reversed(new_folders):
            with contextlib.suppress(OSError):
                files.remove_folder(path)
        raise
    _tidy(files, directory, name, old)


def _fill(files: HostFiles, path: str, binary: bytes, *, windows: bool) -> None:
    if _is_there(files, path, binary, windows=windows):
        return
    aside = f"{path}.{secrets.token_hex(4)}"
    try:
        files.write(aside, binary)
        if not windows:
            files.allow_start(aside)
        if not _is_there(files, aside, binary, windows=windows):
            why = " (did a virus scanner remove it?)" if windows else ""
            raise OSError(f"{aside} does not contain the data that was written{why}")
        files.rename(aside, path)
    except OSError:
        with contextlib.suppress(OSError):
            files.remove(aside)
        # Another run may have installed the same probe meanwhile.
        if not _is_there(files, path, binary, windows=windows):
            raise


def _tidy(files: HostFiles, directory: str, name: str, old: list[str]) -> None:
    """Remove files of earlier runs: interrupted uploads, and probes not used for a long time.

    ``old``: names of the files that were not changed for ``UPLOAD_DAYS``.
    """
    unwanted = set(filter(UPLOAD_NAME.fullmatch, old))
    if any(PROBE_NAME.fullmatch(file) and file != name for file in old):
        unwanted |= set(filter(PROBE_NAME.fullmatch, _older(files, directory, PROBE_DAYS))) - {name}
    for file in unwanted:
        with contextlib.suppress(OSError):
            files.remove(f"{directory}/{file}")
    if name in old:
        # Mark the probe as used, so that no run removes it.
        with contextlib.suppress(OSError):
            files.touch(f"{directory}/{name}")


def _older(files: HostFiles, directory: str, days: int) -> list[str]:
    try:
        return files.older(directory, days)
    except OSError:
        return []


def _make_private(
    files: HostFiles, directory: str, uid: int | None, new_folders: list[str]
) -> None:
    """Make sure that the directory exists and that no other user can write to it; OSError if not.

    ``new_folders`` collects the paths of new directories.
    """
    try:
        status = files.seen(directory)
    except OSError:
        _make(files, directory, new_folders)
        status = files.seen(directory)
    if not stat.S_ISDIR(status.mode):
        raise OSError(f"{directory} is not a directory (links are not followed)")
    if uid is not None and (status.uid != uid or status.mode & 0o022):
        raise OSError(f"{directory} belongs to another user, or others may write there")


def _make(files: HostFiles, directory: str, new_folders: list[str]) -> None:
    path = "/" if directory.startswith("/") else ""
    for part in directory.strip("/").split("/"):
        path += part
        try:
            files.make_folder(path)
        except OSError as refused:
            try:
                files.seen(path)
            except OSError:
                raise refused from None
        else:
            new_folders.append(path)
        path += "/"


def _is_there(files: HostFiles, path: str, binary: bytes, *, windows: bool = False) -> bool:
    """Whether the file at ``path`` is this binary, byte by byte, and may be started."""
    try:
        status = files.seen(path)
        may_start = windows or status.mode & 0o100
        if not stat.S_ISREG(status.mode) or not may_start or status.size_bytes != len(binary):
            return False
        return binary in files.read(path, len(binary))
    except OSError:
        return False
