"""What a login needs: its endpoint in ~/.ssh/config, the host's known keys, and the user's keys."""

from __future__ import annotations

import base64
import getpass
import hashlib
import os
import re
import shlex
import socket
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

import paramiko
from paramiko.agent import AgentSSH, get_agent_connection
from paramiko.ssh_exception import PasswordRequiredException, SSHException

from netlab.errors import HostError, HostGone, HostKeyError, UnknownHostKey
from netlab.experiment.hosts import SshTarget, parse_ssh
from netlab.remote.transport import HeldOpen
from netlab.terminal import excerpt

T = TypeVar("T")


def in_thread(work: Callable[[], T], outcome: Future[T]) -> None:
    """Call ``work`` in its own daemon thread, which does not delay the end of the program. Its
    result or error becomes the outcome, unless there is one already.
    """

    def run() -> None:
        with suppress(InvalidStateError):
            try:
                outcome.set_result(work())
            except BaseException as error:
                outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()


def in_time(work: Callable[[], T], seconds: float) -> T:
    """Call ``work`` ``in_thread``; returns its result or raises its error. TimeoutError if it takes
    longer.
    """
    outcome: Future[T] = Future()
    in_thread(work, outcome)
    return outcome.result(seconds)


WORDS_CHARACTERS = 200


Closable = socket.socket | paramiko.Channel | paramiko.Transport
"""What a login opens: a socket, a channel, an SSH connection."""


class Chain(HeldOpen[Closable]):
    """Connections through jump hosts to a host, and everything that is open while they are made.

    ``close`` waits for no host: the first socket is closed first, so that closing the rest does not
    wait until data are sent.
    """

    def __init__(self, host_label: str) -> None:
        super().__init__(end, f"{host_label}: the connection was closed")
        self._held = {}  # its own: nobody else may have an item until the login ends
        self._closing = threading.Event()
        self.connections: list[paramiko.Transport] = []
        """Logged-in connections in their order; the last one is to the host itself."""

    def drop(self, item: Closable) -> None:
        """Close an item that is no longer needed."""
        with self._lock:
            self._held.pop(item, None)
        end(item)

    def pause(self, seconds: float) -> None:
        """Sleep; HostGone if the chain is closed meanwhile."""
        self._closing.wait(seconds)
        self.check()

    def close(self) -> None:
        """As for all that is open; it also ends a ``pause``."""
        self.closed = True
        self._closing.set()
        super().close()


def end(item: Closable) -> None:
    """Close an item and wake the threads that wait on it."""
    if isinstance(item, socket.socket):
        # Closing alone does not wake a thread that reads.
        with suppress(OSError):
            item.shutdown(socket.SHUT_RDWR)
    with suppress(paramiko.SSHException, EOFError, OSError):
        item.close()


def in_words(error: BaseException) -> str:
    """An error as one line: the system's text, else the exception's text, else its type."""
    words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return excerpt(words, WORDS_CHARACTERS)


DEFAULT_IDENTITIES = ("id_ed25519", "id_ecdsa", "id_rsa")
SYSTEM_KNOWN_HOSTS = (Path("/etc/ssh/ssh_known_hosts"), Path("/etc/ssh/ssh_known_hosts2"))
MAX_INCLUDES = 16
"""Maximum depth of nested `Include` lines, as in OpenSSH."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A place to log in, with its settings in ~/.ssh/config."""

    shown: str
    host: str
    port: int
    user: str
    key_names: tuple[str, ...]
    """Its possible names in known_hosts, the exact name first."""
    identities: tuple[Path, ...]
    named: bool
    """Whether the key files are configured; else they are OpenSSH's defaults."""
    only_named: bool
    """Whether only these key files may be tried, and no other key of ssh-agent."""
    known_hosts: tuple[Path, ...]
    jumps: tuple[SshTarget, ...]
    """Hosts to pass through, the nearest first."""


def endpoint(host_label: str, target: SshTarget, identity: str | None = None) -> Endpoint:
    """The endpoint of ``target`` by the inventory, else by ~/.ssh/config.

    HostError if the file cannot be read, or requires something that netlab does not do.
    """
    home = Path.home() / ".ssh"
    config: dict[str, Any] = {}
    if (file := home / "config").is_file():
        try:
            lines = _lines(file, home, MAX_INCLUDES)
            config = dict(paramiko.SSHConfig.from_text("\n".join(lines)).lookup(target.host))
        except (SSHException, OSError, ValueError, ImportError) as error:
            # ImportError: `Match exec` needs the package invoke, which may be missing.
            raise HostError(f"{host_label}: {file} cannot be understood: {error}") from None
    host = str(config.get("hostname", target.host))
    identity_files = [identity] if identity else list(config.get("identityfile", ()))
    identities = identity_files or [str(home / name) for name in DEFAULT_IDENTITIES]
    try:
        port = target.port or int(config.get("port", 22))
        through = str(config.get("proxyjump", "none"))
        jumps = tuple(
            parse_ssh(jump.strip().removeprefix("ssh://"))
            for jump in (through.split(",") if through.lower() != "none" else ())
        )
    except ValueError as error:
        raise HostError(f"{host_label}: {file}, host {target.host}: {error}") from None
    if config.get("proxycommand") and not jumps:
        raise HostError(
            f"{host_label}: {file} has a ProxyCommand for {target.host}, which netlab "
            "does not run; use ProxyJump"
        )
    alias = str(config.get("hostkeyalias", ""))
    user = target.user or str(config.get("user", "")) or getpass.getuser()
    tokens = {"h": host, "k": alias or host, "n": target.host, "p": str(port), "r": user}
    tokens |= {"%": "%", "d": str(Path.home()), "u": getpass.getuser()}
    files = tuple(_known_hosts(str(config.get("userknownhostsfile", "")), tokens))
    return Endpoint(
        shown=host_label,
        host=host,
        port=port,
        user=user,
        # In known_hosts: ``host`` for port 22, else ``[host]:port`` and ``host``.
        key_names=(alias or host,) if alias or port == 22 else (f"[{host}]:{port}", host),
        identities=tuple(Path(name).expanduser() for name in identities),
        named=bool(identity_files),
        only_named=identity is not None or str(config.get("identitiesonly", "no")) == "yes",
        known_hosts=(files or (home / "known_hosts", home / "known_hosts2")) + SYSTEM_KNOWN_HOSTS,
        jumps=jumps,
    )


def _known_hosts(setting: str, tokens: Mapping[str, str]) -> Iterator[Path]:
    """The files that a UserKnownHostsFile line names, as ``_lines`` writes the line."""
    for name in filter(None, setting.split(_BETWEEN)):
        path = re.sub("%(.)", lambda match: tokens.get(match[1], match[0]), name)
        # The null device has no keys.
        path = os.devnull if name.lower() == "none" else os.path.expandvars(path)
        yield Path(path).expanduser()


_INCLUDE = re.compile(r"\s*include(?:\s*=\s*|\s+)(.+)", re.IGNORECASE)
_FILES = re.compile(r"\s*userknownhostsfile(?:\s*=\s*|\s+)(.+)", re.IGNORECASE)
_BETWEEN = "\x1f"
"""Separator of the files of one line; without it, paramiko would read them as one value."""
_BLOCK = re.compile(r"\s*(?:host|match)(?:\s*=\s*|\s+).+", re.IGNORECASE)


def _lines(file: Path, home: Path, depth: int) -> Iterator[str]:
    """The lines of a configuration and of the files that it includes (ssh_config(5))."""
    block = "Host *"
    for line in file.read_text(encoding="utf-8").splitlines():
        include, files = _INCLUDE.fullmatch(line), _FILES.fullmatch(line)
        if files is not None:
            yield f"UserKnownHostsFile {_BETWEEN.join(shlex.split(files[1]))}"
            continue
        if include is None:
            block = line if _BLOCK.fullmatch(line) else block
            yield line
            continue
        for pattern in include[1].replace('"', "").split():
            path = Path(pattern).expanduser()
            base, glob_pattern = (path.parent, path.name) if path.is_absolute() else (home, pattern)
            for included in sorted(base.glob(glob_pattern)) if depth else ():
                if included.is_file():
                    yield from _lines(included, home, depth - 1)
        # The next lines belong to the block of the Include line.
        yield block


RSA = ("rsa-sha2-512", "rsa-sha2-256")
"""Signature algorithms that an ``ssh-rsa`` key uses today (RFC 8332)."""


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key of a host in a known_hosts file."""

    kind: str
    blob: str
    """The key in Base64."""
    where: str
    """``file:line``."""
    name: str
    revoked: bool


def fingerprint(blob: bytes) -> str:
    """``SHA256:…`` as OpenSSH prints it."""
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode("ascii")
    return "SHA256:" + digest.rstrip("=")


class HostKeys:
    """The known keys of one host, and the check of its key.

    ``names``: the host's names in known_hosts, the exact one first. As in OpenSSH, an entry under a
    further name (the host without its port) can confirm a key, but never refute one.
    """

    def __init__(
        self, host_label: str, names: tuple[str, ...], pinned: str | None, files: Iterable[Path]
    ) -> None:
        self._shown = host_label
        self._names = names
        self._pinned = pinned
        self._files = tuple(files)
        read = tuple(self._read())
        self._revoked = [known_key for known_key in read if known_key.revoked]
        self._known = [known_key for known_key in read if not known_key.revoked]
        self.pinned_by_fingerprint = pinned is not None and pinned.startswith("SHA256:")
        """Whether only a fingerprint is pinned: then the kind of the key is not known."""

    def algorithms(self, offer: Iterable[str], without: Collection[str] = ()) -> tuple[str, ...]:
        """The algorithms to offer: those of known keys first, as only known keys can be checked.

        ``without``: kinds of keys (``ssh-ed25519``) that did not match the fingerprint.
        """
        kinds = dict.fromkeys(known_key.kind for known_key in self._known)
        if self._pinned is not None:
            kinds = {} if self.pinned_by_fingerprint else {self._pinned.split()[0]: None}
        first = [name for kind in kinds for name in _signatures(kind)]
        exclusions = {name for kind in without for name in _signatures(kind)}
        candidates = [name for name in offer if name not in exclusions]
        known_names = [name for name in first if name in candidates]
        return (*known_names, *(name for name in candidates if name not in known_names))

    def check(self, key: paramiko.PKey) -> None:
        """Raise HostKeyError for a wrong or unknown key, with its fingerprint and what to do."""
        blob = base64.b64encode(key.asbytes()).decode("ascii")
        key_label = f"{key.get_name()} {fingerprint(key.asbytes())}"
        for known_key in self._revoked:
            if known_key.blob == blob:
                place = known_key.where
                raise HostKeyError(f"{self._shown}: its key {key_label} is revoked in {place}")
        if self._pinned is not None:
            if self.pinned_by_fingerprint:
                right = self._pinned.rstrip("=") == fingerprint(key.asbytes())
            else:
                right = self._pinned.split()[1] == blob
            if not right:
                raise HostKeyError(
                    f"{self._shown}: its key is {key_label}, not the one that the inventory pins "
                    "(host_key:)"
                )
            return
        if any(known_key.blob == blob for known_key in self._known):
            return
        same = [known_key for known_key in self._known if known_key.name == self._names[0]]
        if same:
            raise HostKeyError(
                f"{self._shown}: its key has CHANGED: it is {key_label}, and {same[0].where} has "
                f"{same[0].kind} {fingerprint(base64.b64decode(same[0].blob))}. Somebody may "
                "intercept the connection. If the host was reinstalled, remove the old key "
                f"(ssh-keygen -R '{self._names[0]}'); then netlab says how to add the new one"
            )
        key_text = f"{key.get_name()} {blob}"
        # A POSIX shell command that works even if the file's folder does not exist yet.
        folder, file = shlex.quote(str(self._files[0].parent)), shlex.quote(str(self._files[0]))
        line = shlex.quote(f"{self._names[0]} {key_text}")
        raise UnknownHostKey(
            self._shown,
            key_text,
            key_label,
            f"{self._shown}: unknown host key {key_label}. Compare it with the key on the host "
            "(ssh-keygen -lf /etc/ssh/ssh_host_…_key.pub there). If both are the same, pin it in "
            f"the inventory (host_key: {key_text}), or add it for every SSH program: "
            f"mkdir -p -m 700 {folder} && echo {line} >> {file}",
        )

    def _read(self) -> Iterator[KnownKey]:
        for file in self._files:
            try:
                lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
            except OSError:
                continue
            for number, line in enumerate(lines, 1):
                words = line.split()
                marker = words.pop(0) if words and words[0].startswith("@") else ""
                if len(words) < 3 or words[0].startswith("#") or marker == "@cert-authority":
                    continue
                with suppress(ValueError):
                    base64.b64decode(words[2], validate=True)
                    name = next((name for name in self._names if _means(words[0], name)), None)
                    if name is not None:
                        revoked = marker == "@revoked"
                        yield KnownKey(words[1], words[2], f"{file}:{number}", name, revoked)


def _signatures(kind: str) -> tuple[str, ...]:
    return RSA if kind == "ssh-rsa" else (kind,)


def _means(patterns: str, name: str) -> bool:
    """Whether the first field of a line matches the host ``name`` (sshd(8), SSH_KNOWN_HOSTS)."""
    name = name.lower()
    if patterns.startswith("|1|"):
        try:
            return paramiko.HostKeys.hash_host(name, patterns) == patterns
        except (ValueError, IndexError, AssertionError):
            return False
    matches = False
    for pattern in patterns.lower().split(","):
        # known_hosts has the wildcards * and ?; brackets belong to the port and are no pattern.
        text = pattern.removeprefix("!").replace("[", "[[]")
        if fnmatchcase(name, text):
            if pattern.startswith("!"):
                return False
            matches = True
    return matches


AGENT_S = 5.0
TOUCH_S = 30.0
"""Time for ssh-agent to sign: a person may have to touch a key or to answer a dialog."""


class AgentSilent(SSHException):
    """ssh-agent does not answer in time."""


class KeyAgent(AgentSSH):
    """The keys of ssh-agent, if one runs; each whole answer has a time limit."""

    _conn: Any
    _connect: Callable[[Any], None]
    _close: Callable[[], None]

    def __init__(self, chain: Chain) -> None:
        super().__init__()
        self._chain = chain
        self._answer_s = AGENT_S
        self._give_up = 0.0
        self.asked_at: float | None = None
        """Start (monotonic, s) of the current wait for an answer; ``None``: there is no wait."""

    def open(self) -> None:
        """Connect and list the agent's keys.

        Raises AgentSilent if it does not answer in time, or any error if the peer is not an agent.
        """
        path = os.environ.get("SSH_AUTH_SOCK")
        if sys.platform == "win32":
            connection = get_agent_connection()
        elif path:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._chain.add(connection)
            connection.settimeout(AGENT_S)
            try:
                connection.connect(path)
            except (FileNotFoundError, ConnectionRefusedError):
                # The variable names an agent that has ended.
                self._chain.drop(connection)
                return
        else:
            return
        if connection is not None:
            self._connect(connection)
            self._answer_s = TOUCH_S

    def close(self) -> None:
        """Close the connection to it."""
        if self._conn is not None:
            self._chain.drop(self._conn)
        self._close()

    def _send_message(self, msg: Any) -> tuple[int, paramiko.Message]:
        self.asked_at = time.monotonic()
        self._give_up = self.asked_at + self._answer_s
        try:
            kind, answer = super()._send_message(msg)  # type: ignore[misc]
            return int(kind), answer
        except OSError as error:
            # A broken connection to the agent must not look like a broken connection to the host.
            raise SSHException(f"ssh-agent: {in_words(error)}") from None
        finally:
            self.asked_at = None

    def _read_all(self, byte_count: int) -> bytes:
        read = b""
        while len(read) < byte_count:
            if hasattr(self._conn, "settimeout"):
                self._conn.settimeout(max(0.001, self._give_up - time.monotonic()))
            try:
                part = self._conn.recv(byte_count - len(read))
            except TimeoutError:
                # Paramiko's own thread, which signs, cannot handle a TimeoutError.
                raise AgentSilent(f"no answer in {self._answer_s:g} s") from None
            if not part:
                raise SSHException("it ended the connection")
            read += part
        return read


@dataclass(frozen=True, slots=True)
class KeyFile:
    """The content of a key file, or why it has no key."""

    path: Path
    is_there: bool
    public: bytes | None
    """The public key in the file next to it."""
    key: paramiko.PKey | None
    fault: str = ""

    @classmethod
    def read(cls, path: Path) -> KeyFile:
        """Read a key file; on a network drive that does not answer this may never end."""
        if not path.is_file():
            return cls(path, False, None, None, f"{path} does not exist")
        public = None
        with suppress(OSError, ValueError, IndexError):
            words = path.with_name(path.name + ".pub").read_text(encoding="utf-8").split()
            public = base64.b64decode(words[1], validate=True)
        try:
            return cls(path, True, public, paramiko.PKey.from_path(str(path)))
        except (PasswordRequiredException, TypeError):
            # The cryptography package raises TypeError for a missing passphrase.
            fault = f"{path} has a passphrase: add it to ssh-agent"
        except (SSHException, paramiko.pkey.UnknownKeyType, OSError, ValueError) as error:
            fault = f"{path} cannot be read: {error}"
        return cls(path, True, public, None, fault)


class UserKeys:
    """Keys to try at a host (configured files, the agent's, default files, as OpenSSH), each once.

    If the agent holds the key of a file, the agent's key is used: the file may have a passphrase.
    """

    def __init__(self, place: Endpoint, files: Sequence[KeyFile], chain: Chain) -> None:
        self._place = place
        self._files = files
        self.agent = KeyAgent(chain)
        self.hints: list[str] = []
        self._held: dict[bytes, paramiko.AgentKey] = {}
        self._done: set[bytes] = set()

    def __iter__(self) -> Iterator[tuple[str, paramiko.PKey]]:
        """Yields (name for messages, key) of each key to try."""
        place = self._place
        try:
            self.agent.open()
            self._held = {key.asbytes(): key for key in self.agent.get_keys()}
        except HostGone:
            raise
        except (AgentSilent, TimeoutError):
            self.hints.append(f"ssh-agent did not list its keys in {AGENT_S:g} s")
        except Exception as error:  # a fault of an agent is never more than a hint
            self.hints.append(f"ssh-agent does not answer ({in_words(error)})")
        files = [file for file in self._files if file.is_there]
        if place.named:
            self.hints += [file.fault for file in self._files if not file.is_there]
            yield from self._of_files(files)
        if not place.only_named:
            for blob, key in self._held.items():
                if blob not in self._done:
                    self._done.add(blob)
                    yield f"{key.get_name()} of the agent", key
        if not place.named:
            yield from self._of_files(files)

    def _of_files(self, files: Sequence[KeyFile]) -> Iterator[tuple[str, paramiko.PKey]]:
        for file in files:
            key = file.key if file.public is None else self._held.get(file.public, file.key)
            if key is None:
                self.hints.append(file.fault)
            elif key.asbytes() not in self._done:
                self._done.add(key.asbytes())
                yield str(file.path), key
