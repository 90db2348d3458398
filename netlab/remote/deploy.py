"""Installs the right netprobe on a host: named by its hash, verified, kept for later runs.

A first look asks a POSIX host everything by one command, ``sh``, which reads a script from its
standard input, so no word of a command needs quoting for the login's own shell. A host that does
not answer as expected is asked step by step instead. If its SFTP fails, commands copy the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from netlab.build.binaries import OnEvent, local_probe, machine, probe_for
from netlab.errors import HostError, HostGone, HostRefused, UsageError
from netlab.experiment.hosts import OS_NAMES, Host
from netlab.remote.transport import FileSeen, HostFiles, Process, Transport
from netlab.terminal import excerpt

if TYPE_CHECKING:
    from netlab.remote.ssh import Answer, SshProcess, SshTransport

FILE_COMMAND_S = 60.0
"""Time limit of a command, which may transfer a whole probe."""
NOISE_MOST_BYTES = 1 << 20

# A line of `ls -ldn`: type and permissions, possibly a sign for access lists, number of links,
# owner, group, size, time, name.
_LISTED = re.compile(
    r"^([-dlbcps])([-rwxsStT]{9})[.+@]?[ \t]+\d+[ \t]+(\d+)[ \t]+\d+[ \t]+(\d+)[ \t](.*)$",
    re.MULTILINE,
)
_TYPES = {"d": stat.S_IFDIR, "l": stat.S_IFLNK, "-": stat.S_IFREG}


class _CommandFiles(HostFiles):
    """The operations of HostFiles by simple commands, each on its own SSH channel.

    The words of these commands need no quoting in any shell. Output of the login before or after an
    answer is ignored.
    """

    def __init__(self, transport: SshTransport, host_label: str) -> None:
        """``host_label``: the name of the host in messages."""
        self._transport = transport
        self._shown = host_label

    def seen(self, path: str) -> FileSeen:
        output = self._run("ls", "-ldn", path).text
        files = list(files_listed(output))
        if not files:
            raise OSError(f"`ls -ldn {path}` printed {output[-200:]!r}")
        return files[-1][1]

    def make_folder(self, path: str) -> None:
        self._run("mkdir", "-m", "700", path)

    def remove_folder(self, path: str) -> None:
        self._run("rmdir", path)

    def read(self, path: str, size_bytes: int) -> bytes:
        return self._run("cat", path, most_bytes=size_bytes + NOISE_MOST_BYTES).stdout

    def write(self, path: str, data: bytes) -> None:
        self._run("dd", f"of={path}", "bs=65536", data=data)

    def allow_start(self, path: str) -> None:
        self._run("chmod", "700", path)

    def rename(self, path: str, new: str) -> None:
        self._run("mv", "-f", path, new)

    def remove(self, path: str) -> None:
        self._run("rm", "-f", path)

    def touch(self, path: str) -> None:
        self._run("touch", path)

    def older(self, folder: str, days: int) -> list[str]:
        output = self._run("find", folder, "-type", "f", "-mtime", f"+{days}").text
        lines = (line.strip() for line in output.splitlines())
        start = f"{folder}/"
        return [line.removeprefix(start) for line in lines if line.startswith(start)]

    def _run(self, *argv: str, data: bytes = b"", most_bytes: int = NOISE_MOST_BYTES) -> Answer:
        """Run a command and return its answer; OSError with its last error line if it fails."""
        try:
            answer = self._transport.answer(
                argv, data=data, most_bytes=most_bytes, timeout_s=FILE_COMMAND_S
            )
        except TimeoutError:
            raise HostError(
                f"{self._shown}: `{' '.join(argv)}` takes longer than {FILE_COMMAND_S:g} s"
            ) from None
        if answer.status != 0:
            words = answer.stderr.splitlines() or [f"`{' '.join(argv)}` ends with {answer.status}"]
            raise OSError(excerpt(words[-1], 200))
        return answer


def files_listed(output: str) -> Iterator[tuple[str, FileSeen]]:
    """Yields the path (for a link: another word) and attributes of each line of `ls -ldn`."""
    for kind, permissions, uid, size, tail in _LISTED.findall(output):
        # ``rwxr-x---`` → 0o750; the special bits are left out.
        bits = "".join("1" if letter in "rwxst" else "0" for letter in permissions)
        mode = _TYPES.get(kind, 0) | int(bits, 2)
        yield tail.split()[-1] if tail.split() else "", FileSeen(mode, int(uid), int(size))


COMMAND_S = 20.0
ANSWER_MOST_BYTES = 1 << 20

UNAME = ("uname", "-s", "-m")
"""Command that every POSIX system answers in any shell."""
ID = ("id", "-u")
ECHO = (
    *("echo", "%OS%", "%PROCESSOR_ARCHITECTURE%"),
    *("$env:OS", "$env:PROCESSOR_ARCHITECTURE", "$OS", "$PROCESSOR_ARCHITECTURE"),
)
"""Command for Windows: each shell replaces only the words in its own syntax by their values. uname
cannot identify the shell: cmd.exe runs it, too, if Git's or Cygwin's programs are installed."""
SYSTEMS = {"Linux": "L", "Darwin": "M", "FreeBSD": "F"}


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
        try:
            answer = transport.answer(command, most_bytes=ANSWER_MOST_BYTES, timeout_s=COMMAND_S)
        except TimeoutError as error:
            so_far = f" (output so far: {str(error)!r})" if str(error) else ""
            raise HostError(
                f"{host.name}: the login works, but no command ends in {COMMAND_S:g} s{so_far}; "
                "does its shell wait for something (.bashrc, ForceCommand)?"
            ) from None
        read = posix_platform if command == UNAME else windows_platform
        if (platform := read(answer.text)) is not None:
            return platform
        answers[command] = answer.text[-200:] or answer.stderr[-200:]
    uname_words = repr(answers[UNAME]) if answers[UNAME] else "nothing"
    raise HostError(f"{host.name}: unknown system: `uname -s -m` printed {uname_words}")


def user_in(answer: str) -> int | None:
    """The number in the output of `id -u`, which may contain other lines."""
    numbers = _NUMBER.findall(answer)
    return int(numbers[-1]) if numbers else None


def posix_platform(answer: str) -> Platform | None:
    """The platform in the output of `uname -s -m`, which may contain other lines."""
    matches = next((lines for pattern in _POSIX if (lines := pattern.findall(answer))), None)
    return None if matches is None else Platform(SYSTEMS[matches[-1][0]], machine(matches[-1][1]))


def windows_platform(answer: str) -> Platform | None:
    """The platform in the output of ``ECHO``, which may contain other lines."""
    for shell, pattern in _WINDOWS.items():
        architectures = pattern.findall(answer)
        if architectures:
            return Platform("W", machine(architectures[-1]), shell)
    return None


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
    old: frozenset[str]
    """Paths of the files whose last change is more than the given days ago."""
    mark: str
    process: SshProcess

    def holds(self, path: str, size_bytes: int, digest: str) -> bool:
        """Whether the probe (``digest``: SHA-256) is installed as by ``places``, and not old."""
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
            self.process.read_until(f"{self.mark}:agent", ANSWER_MOST_BYTES, LOOK_S)
        except OSError:
            self.process.kill()
            return None
        return self.process


def first_look(host: Host, transport: SshTransport, folder: str, days: int) -> FirstLook | None:
    """The facts from one command; ``None`` for Windows, or without the expected answer in time.

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
    within_s = min(LOOK_S, COMMAND_S)
    try:
        process.write(script, within_s)
        output = process.read_until(f"{mark}:end", ANSWER_MOST_BYTES, within_s)
    except OSError:
        process.kill()
        return None
    text = output.decode("utf-8", "replace").partition(f"{mark}:begin")[2]
    about, _, sums = text.partition(f"{mark}:sums")
    platform, uid = posix_platform(about), user_in(about)
    if platform is None or uid is None:
        process.kill()
        return None
    return FirstLook(
        platform=platform,
        user_id=uid,
        folder=folder,
        files=dict(files_listed(about)),
        # Each line is ``DIGEST  PATH``.
        sums={
            path: digest
            for digest, _, path in (line.strip().partition("  ") for line in sums.splitlines())
            if path
        },
        old=frozenset(line.strip() for line in about.splitlines() if line.startswith(f"{folder}/")),
        mark=mark,
        process=process,
    )


CACHE = ".cache/netlab"
"""Folder of the probe, relative to the home directory, in which a login starts."""
FALLBACKS = ("/var/tmp", "/tmp", "/dev/shm")  # noqa: S108  (private and checked, see _make_private)
DEPLOY_S = 120.0
"""Time limit for all places together; the time that the probe takes to start does not count."""
TOO_LONG = "the probe could not be copied there in {:g} s"
UPLOAD_NAME = re.compile(r"netprobe-[0-9a-f]{16}(?:\.exe)?\.[0-9a-f]{8}")
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
    path: str
    """Path of the file as the host's system writes it, for messages."""
    process: Process | None = None


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
        path = f"{CACHE}/{name}"
        if not look.holds(path, len(binary), probe.digest):
            look.process.kill()
        elif (process := look.become_agent(path)) is not None:
            yield ProbePlace((path, "agent"), binary, path, process)
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
        from netlab.remote.ssh import SftpBroken

        left_s = max(0.0, self._give_up - time.monotonic())
        with self._transport.deadline(left_s, TOO_LONG.format(DEPLOY_S)):
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
            work(_CommandFiles(self._transport, self._shown))

    def user_id(self) -> int:
        """The user id of the login; if it is not reported, the id of the home's owner."""
        # The home may belong to another user, or may not exist.
        with contextlib.suppress(TimeoutError):
            answer = self._transport.answer(ID, most_bytes=ANSWER_MOST_BYTES, timeout_s=COMMAND_S)
            if (number := user_in(answer.text)) is not None:
                return number
        owners: list[int | None] = []
        self.use(lambda files: owners.append(files.seen(".").uid))
        if owners[-1] is None:
            raise HostError(f"{self._shown}: `id -u` printed no number")
        return owners[-1]


def _windows_places(
    transport: SshTransport, shell: Shell, name: str, binary: bytes, refusals: list[str]
) -> Iterator[ProbePlace]:
    """Yields the cache in the home: first with its path relative to the home, then with its
    absolute path, because a login's profile may change to another folder.

    No other folder is tried: SFTP shows no owners on Windows, so a folder that another user
    prepared would look like a private folder.
    """
    in_time = transport.deadline(DEPLOY_S, TOO_LONG.format(DEPLOY_S))
    with in_time, transport.sftp() as sftp:
        try:
            _put(sftp, CACHE, name, binary, None)
            home = sftp.whole_path(".")
        except (OSError, EOFError) as error:
            refusals.append(f"{CACHE}: {str(error) or type(error).__name__}")
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


@dataclass(frozen=True, slots=True)
class _Probe:
    """A probe on this machine."""

    path: Path
    binary: bytes
    digest: str
    until_s: float
    """Time of the monotonic clock until which it is used for further hosts."""


_probes: dict[tuple[Callable[..., Path], tuple[str, ...]], _Probe] = {}


def _found(find: Callable[..., Path], words: tuple[str, ...], on_event: OnEvent) -> _Probe:
    """The probe that ``find`` finds."""
    # A thousand hosts need neither a thousand copies nor a thousand looks at the sources.
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
    # Remove files of earlier runs: interrupted uploads, and probes not used for a long time.
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
        path = "/" if directory.startswith("/") else ""
        for part in directory.strip("/").split("/"):
            path += part
            try:
                files.make_folder(path)
                new_folders.append(path)
            except OSError as refused:
                try:
                    files.seen(path)
                except OSError:
                    raise refused from None
            path += "/"
        status = files.seen(directory)
    if not stat.S_ISDIR(status.mode):
        raise OSError(f"{directory} is not a directory (links are not followed)")
    if uid is not None and (status.uid != uid or status.mode & 0o022):
        raise OSError(f"{directory} belongs to another user, or others may write there")


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
