"""Is a host the one it says it is: its key against a pinned one, or against known_hosts."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import paramiko

from netlab.errors import HostKeyError

SYSTEM_FILES = (Path("/etc/ssh/ssh_known_hosts"), Path("/etc/ssh/ssh_known_hosts2"))
RSA = ("rsa-sha2-512", "rsa-sha2-256")
"""How an ``ssh-rsa`` key signs today (RFC 8332)."""


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key that stands for a host in some file."""

    kind: str
    blob: str
    """Base64."""
    where: str
    """``file:line``."""
    revoked: bool


def fingerprint(blob: bytes) -> str:
    """``SHA256:…`` as OpenSSH prints it."""
    digest = base64.b64encode(hashlib.sha256(blob).digest()).decode("ascii")
    return "SHA256:" + digest.rstrip("=")


def entry_name(host: str, port: int) -> str:
    """How known_hosts names a host: ``host``, or ``[host]:port`` for a port that is not 22."""
    return host if port == 22 else f"[{host}]:{port}"


class HostKeys:
    """What is known of one host's key."""

    def __init__(self, shown: str, name: str, pinned: str | None, files: Iterable[Path]) -> None:
        self._shown = shown
        """The host in sentences."""
        self._name = name
        self._pinned = pinned
        self._files = tuple(files)
        self._known = () if pinned else tuple(self._read())

    def algorithms(self, offered: Iterable[str]) -> tuple[str, ...]:
        """Those of ``offered`` to ask for: a key that is known can only be checked as its kind."""
        kinds = {known.kind for known in self._known if not known.revoked}
        if self._pinned and not self._pinned.startswith("SHA256:"):
            kinds = {self._pinned.split()[0]}
        wanted = {name for kind in kinds for name in (RSA if kind == "ssh-rsa" else (kind,))}
        return tuple(name for name in offered if not wanted or name in wanted)

    def check(self, key: paramiko.PKey) -> None:
        """Return for the right key; HostKeyError with the fingerprint and what to do otherwise."""
        blob = base64.b64encode(key.asbytes()).decode("ascii")
        seen = f"{key.get_name()} {fingerprint(key.asbytes())}"
        for known in self._known:
            if known.revoked and known.blob == blob:
                raise HostKeyError(f"{self._shown}: its key {seen} is revoked in {known.where}")
        if self._pinned:
            self._check_pinned(key, blob, seen)
            return
        same = [known for known in self._known if not known.revoked]
        if any(known.blob == blob for known in same):
            return
        if same:
            raise HostKeyError(
                f"{self._shown}: its key has CHANGED: it is {seen}, and {same[0].where} has "
                f"{same[0].kind} {fingerprint(base64.b64decode(same[0].blob))}. Somebody may be in "
                f"between. If the host was set up anew: ssh-keygen -R '{self._name}', "
                "then log in once with ssh"
            )
        raise HostKeyError(
            f"{self._shown}: unknown host key {seen}. Compare it with the host's own "
            f"(ssh-keygen -lf /etc/ssh/ssh_host_…_key.pub), then log in once with ssh, "
            f"or pin it in the inventory: host_key: {key.get_name()} {blob}"
        )

    def _check_pinned(self, key: paramiko.PKey, blob: str, seen: str) -> None:
        assert self._pinned is not None  # noqa: S101  (told to the type checker)
        if self._pinned.startswith("SHA256:"):
            right = self._pinned.rstrip("=") == fingerprint(key.asbytes())
        else:
            right = self._pinned.split()[1] == blob
        if not right:
            raise HostKeyError(
                f"{self._shown}: its key is {seen}, not the one that the inventory pins (host_key:)"
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
                if self._matches(words[0]) and _is_base64(words[2]):
                    where = f"{file}:{number}"
                    yield KnownKey(words[1], words[2], where, marker == "@revoked")

    def _matches(self, patterns: str) -> bool:
        """Whether the first field of a line means this host (sshd(8), SSH_KNOWN_HOSTS)."""
        if patterns.startswith("|1|"):
            try:
                return paramiko.HostKeys.hash_host(self._name, patterns) == patterns
            except (ValueError, IndexError, AssertionError):
                return False
        from fnmatch import fnmatchcase

        found = False
        for pattern in patterns.split(","):
            text = pattern.removeprefix("!").replace("[", "[[]") if "[" in pattern else pattern
            text = text.removeprefix("!")
            if fnmatchcase(self._name.lower(), text.lower()):
                if pattern.startswith("!"):
                    return False
                found = True
        return found


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True
