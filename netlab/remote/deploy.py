"""Gets the right netprobe onto a host: under its content hash, verified, kept for the next run."""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from netlab.build.local import OnEvent, local_probe, probe_for
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
"""Relative to where a login starts, the home."""
FALLBACKS = ("/var/tmp", "/tmp", "/dev/shm")  # noqa: S108  (private and checked, see _make_private)
DEPLOY_S = 120.0
"""What all places together may take, beside the probe's own start."""
UPLOAD_NAME = re.compile(r"netprobe-[0-9a-f]{16}(?:\.exe)?\.[0-9a-f]{8}")
"""What an upload that was interrupted left."""
PROBE_NAME = re.compile(r"netprobe-[0-9a-f]{16}(?:\.exe)?")
UPLOAD_DAYS = 1
PROBE_DAYS = 90
"""A probe that no run used for so long is of a version that nobody has any more."""


@dataclass(frozen=True, slots=True)
class ProbePlace:
    """Where the probe lies ready on a host."""

    argv: tuple[str, ...]
    """Starts its agent. Over SSH the words mean the same to every shell, without quoting."""
    binary: bytes
    """What lies there."""
    path: str
    """The file as the host's own system names it, for sentences."""
    process: Process | None = None
    """Its agent, where that is started already."""


def places(
    host: Host, transport: Transport, on_event: OnEvent, refusals: list[str]
) -> Iterator[ProbePlace]:
    """Places from which the agent can be started, the best first.

    The next is for when the probe does not start from the one before: a directory may be full,
    read-only, or mounted noexec. Those that cannot hold it are added to ``refusals`` and passed
    over. HostError where there is no probe for the host, or no way to put one there in time.
    Nothing is open on the host while a place is tried: it may allow a single session.
    """
    if host.local:
        local = local_probe(on_event)
        yield ProbePlace((str(local), "agent"), local.read_bytes(), str(local))
        return
    from netlab.remote.ssh import SshTransport

    assert isinstance(transport, SshTransport)  # noqa: S101  (told to the type checker)
    look = first_look(host, transport, CACHE, UPLOAD_DAYS)
    target = ask(host, transport) if look is None else look.platform
    binary = _binary_for(host, target, on_event)
    name = f"netprobe-{hashlib.sha256(binary).hexdigest()[:16]}"
    if target.os == "W":
        yield from _windows_places(transport, target.shell, f"{name}.exe", binary, refusals)
        return
    if look is not None:
        yield from _found_at_first(look, f"{CACHE}/{name}", binary)
    files = _Files(host.name, transport, on_event)
    uid = files.user_id() if look is None else look.user_id
    for directory in (CACHE, *(f"{each}/netlab-{uid}" for each in FALLBACKS)):
        try:
            files.use(lambda each, at=directory: _put(each, at, name, binary, uid))  # type: ignore[misc]
        except (OSError, EOFError) as error:
            refusals.append(f"{directory}: {str(error) or type(error).__name__}")
            continue
        path = f"{directory}/{name}"
        yield ProbePlace((path, "agent"), binary, path)


def _found_at_first(look: FirstLook, path: str, binary: bytes) -> Iterator[ProbePlace]:
    """The probe that lies there from an earlier run."""
    if not look.holds(path, binary):
        look.end()
        return
    process = look.become_agent(path)
    if process is not None:
        yield ProbePlace((path, "agent"), binary, path, process)


class _Files:
    """A POSIX host's files: over SFTP, and where that does not work, by commands."""

    def __init__(self, shown: str, transport: SshTransport, on_event: OnEvent) -> None:
        self._shown = shown
        self._transport = transport
        self._on_event = on_event
        self._give_up = time.monotonic() + DEPLOY_S
        self._by_commands = False

    def use(self, work: Callable[[HostFiles], None]) -> None:
        """Do ``work``, a second time by commands where SFTP fails in the middle of it."""
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
                        raise HostGone(f"{self._shown}: let go") from None
                    self._by_commands = True
                    if self._on_event is not None:
                        self._on_event(f"{broken}: the probe is put there by commands")
            work(CommandFiles(self._transport, self._shown))

    def user_id(self) -> int:
        """Of the login. Who owns its home may be somebody else, or nobody where there is none."""
        found = user_id(self._transport)
        if found is not None:
            return found
        owners: list[int | None] = []
        self.use(lambda files: owners.append(files.seen(".").uid))
        if owners[-1] is None:
            raise HostError(f"{self._shown}: `id -u` answers no number")
        return owners[-1]


def _too_long() -> str:
    return f"the probe could not be put there in {DEPLOY_S:g} s"


def _windows_places(
    transport: SshTransport, shell: Shell, name: str, binary: bytes, refusals: list[str]
) -> Iterator[ProbePlace]:
    """The home's cache, by its path from the home and, where that does not do, by its whole path.

    A login's profile may have gone to another folder. There is no second folder: one that others
    could have prepared cannot be told from a private one, since SFTP shows no owners there.
    """
    in_time = transport.deadline(DEPLOY_S, _too_long())
    with in_time, transport.sftp() as sftp:
        home = _windows_home(sftp, name, binary, refusals)
    if home is None:
        return
    relative = f"{CACHE}/{name}"
    whole = f"{home.rstrip('/')}/{relative}"
    shown = whole.lstrip("/").replace("/", "\\")
    # cmd.exe takes a slash for the sign of an option, a POSIX shell eats backslashes.
    word = relative if shell is Shell.POSIX else relative.replace("/", "\\")
    yield ProbePlace((word, "agent"), binary, shown)
    if re.fullmatch(r"/[A-Za-z]:[\w./-]+", whole, re.ASCII):
        yield ProbePlace((whole[1:] if shell is Shell.POSIX else shown, "agent"), binary, shown)


def _windows_home(sftp: Sftp, name: str, binary: bytes, refusals: list[str]) -> str | None:
    """The home, once its cache holds the probe."""
    try:
        _put(sftp, CACHE, name, binary, None)
        return sftp.whole_path(".")
    except (OSError, EOFError) as error:
        refusals.append(f"{CACHE}: {str(error) or type(error).__name__}")
        return None


def _binary_for(host: Host, target: Platform, on_event: OnEvent) -> bytes:
    if host.os and target.os != host.os:
        raise HostError(
            f"{host.name} runs {OS_NAMES[target.os]}, and the inventory says `os: {host.os}`"
        )
    try:
        return probe_for(target.os, target.architecture, on_event).read_bytes()
    except UsageError as error:
        # For a person to mend, here: the host is not worth waiting for.
        raise HostRefused(f"{host.name}: {error}") from None


def _put(files: HostFiles, directory: str, name: str, binary: bytes, uid: int | None) -> None:
    """The binary as ``directory/name``, whole or not at all; OSError where it cannot be.

    ``uid`` is the login's; ``None`` for Windows, whose SFTP knows neither owners nor modes, only
    access lists. Where it fails, nothing of ours stays behind.
    """
    made: list[str] = []
    try:
        _make_private(files, directory, uid, made)
        old = _older(files, directory, UPLOAD_DAYS)
        _fill(files, f"{directory}/{name}", binary, windows=uid is None)
    except OSError:
        for path in reversed(made):
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
            why = " (did a virus scanner take it away?)" if windows else ""
            raise OSError(f"{aside} does not hold what was written{why}")
        files.rename(aside, path)
    except OSError:
        with contextlib.suppress(OSError):
            files.remove(aside)
        # Two runs at once: the other one was first, and its probe runs already.
        if not _is_there(files, path, binary, windows=windows):
            raise


def _tidy(files: HostFiles, directory: str, name: str, old: list[str]) -> None:
    """Remove what earlier runs left: uploads that were interrupted, and probes long unused.

    ``old`` are the names of files that nobody changed for ``UPLOAD_DAYS``.
    """
    unwanted = set(filter(UPLOAD_NAME.fullmatch, old))
    if any(PROBE_NAME.fullmatch(each) and each != name for each in old):
        unwanted |= set(filter(PROBE_NAME.fullmatch, _older(files, directory, PROBE_DAYS))) - {name}
    for each in unwanted:
        with contextlib.suppress(OSError):
            files.remove(f"{directory}/{each}")
    if name in old:
        # It is in use: what nobody uses is removed one day.
        with contextlib.suppress(OSError):
            files.touch(f"{directory}/{name}")


def _older(files: HostFiles, directory: str, days: int) -> list[str]:
    try:
        return files.older(directory, days)
    except OSError:
        return []


def _make_private(files: HostFiles, directory: str, uid: int | None, made: list[str]) -> None:
    """The directory and those above it; refuses one that somebody else could write.

    ``made`` takes the paths of those that were not there.
    """
    try:
        seen = files.seen(directory)
    except OSError:
        _make(files, directory, made)
        seen = files.seen(directory)
    if not stat.S_ISDIR(seen.mode):
        raise OSError(f"{directory} is no directory (a link is not followed)")
    if uid is not None and (seen.uid != uid or seen.mode & 0o022):
        raise OSError(f"{directory} belongs to somebody else, or others may write there")


def _make(files: HostFiles, directory: str, made: list[str]) -> None:
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
            made.append(path)
        path += "/"


def _is_there(files: HostFiles, path: str, binary: bytes, *, windows: bool = False) -> bool:
    """Whether the file at ``path`` is this binary, byte by byte, and may be started."""
    try:
        seen = files.seen(path)
        may_start = windows or seen.mode & 0o100
        if not stat.S_ISREG(seen.mode) or not may_start or seen.size_bytes != len(binary):
            return False
        return binary in files.read(path, len(binary))
    except OSError:
        return False
