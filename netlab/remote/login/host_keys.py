"""Checks the identity of a host: its key against a pinned key, or against known_hosts."""

from __future__ import annotations

import base64
import hashlib
import shlex
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import paramiko

from netlab.errors import HostKeyError, UnknownHostKey

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
    """The name of the host that the line matched."""
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
        """The host in sentences."""
        self._names = names
        self._pinned = pinned
        self._files = tuple(files)
        read = tuple(self._read())
        self._revoked = tuple(known_key for known_key in read if known_key.revoked)
        self._known = tuple(known_key for known_key in read if not known_key.revoked)

    @property
    def pinned_by_fingerprint(self) -> bool:
        """Whether only a fingerprint is pinned: then the kind of the key is not known."""
        return self._pinned is not None and self._pinned.startswith("SHA256:")

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
                raise HostKeyError(
                    f"{self._shown}: its key {key_label} is revoked in {known_key.where}"
                )
        if self._pinned is not None:
            self._check_pinned(self._pinned, key, blob, key_label)
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
        raise UnknownHostKey(
            self._shown,
            key_text,
            key_label,
            f"{self._shown}: unknown host key {key_label}. Compare it with the key on the host "
            "(ssh-keygen -lf /etc/ssh/ssh_host_…_key.pub there). If both are the same, pin it in "
            f"the inventory (host_key: {key_text}), or add it for every SSH program: "
            f"{_add(self._files[0], f'{self._names[0]} {key_text}')}",
        )

    def _check_pinned(self, pinned: str, key: paramiko.PKey, blob: str, key_label: str) -> None:
        if self.pinned_by_fingerprint:
            right = pinned.rstrip("=") == fingerprint(key.asbytes())
        else:
            right = pinned.split()[1] == blob
        if not right:
            raise HostKeyError(
                f"{self._shown}: its key is {key_label}, not the one that the inventory pins "
                "(host_key:)"
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
                name = next((name for name in self._names if _means(words[0], name)), None)
                if name is not None and _is_base64(words[2]):
                    position = f"{file}:{number}"
                    yield KnownKey(words[1], words[2], position, name, marker == "@revoked")


def _add(file: Path, line: str) -> str:
    """A POSIX shell command that appends the line, even if the file's folder does not exist yet."""
    folder = shlex.quote(str(file.parent))
    return f"mkdir -p -m 700 {folder} && echo {shlex.quote(line)} >> {shlex.quote(str(file))}"


def _signatures(kind: str) -> tuple[str, ...]:
    """The signature algorithms of a kind of key."""
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


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True
