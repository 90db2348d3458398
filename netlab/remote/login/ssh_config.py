"""Where a login really goes: an `ssh:` of the inventory with what ~/.ssh/config adds to it."""

from __future__ import annotations

import getpass
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko
from paramiko.ssh_exception import SSHException

from netlab.errors import HostError
from netlab.experiment.hosts import SshTarget, parse_ssh

DEFAULT_IDENTITIES = ("id_ed25519", "id_ecdsa", "id_rsa")
SYSTEM_KNOWN_HOSTS = (Path("/etc/ssh/ssh_known_hosts"), Path("/etc/ssh/ssh_known_hosts2"))
MAX_INCLUDES = 16
"""How deep `Include` may go, as in OpenSSH."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A place to log in, with all that ~/.ssh/config says of it."""

    shown: str
    """In sentences."""
    host: str
    port: int
    user: str
    key_names: tuple[str, ...]
    """How known_hosts may name it, the exact name first."""
    identities: tuple[Path, ...]
    """Key files, the first to try first."""
    named: bool
    """Whether somebody named them; else they are OpenSSH's defaults."""
    only_named: bool
    """Whether no other key of the agent may be tried."""
    known_hosts: tuple[Path, ...]
    jumps: tuple[SshTarget, ...]
    """Hosts to pass through, the nearest first."""


def endpoint(shown: str, target: SshTarget, identity: str | None = None) -> Endpoint:
    """``target`` with HostName, User, Port, IdentityFile, ProxyJump and their kin.

    What the inventory says itself goes first. HostError where the file cannot be understood, or
    asks for what netlab does not do.
    """
    home = Path.home() / ".ssh"
    said = _lookup(shown, home / "config", target.host)
    host = str(said.get("hostname", target.host))
    named = [identity] if identity else list(said.get("identityfile", ()))
    identities = named or [str(home / name) for name in DEFAULT_IDENTITIES]
    try:
        port = target.port or int(said.get("port", 22))
        jumps = _jumps(str(said.get("proxyjump", "none")))
    except ValueError as error:
        raise HostError(f"{shown}: {home / 'config'}, host {target.host}: {error}") from None
    if said.get("proxycommand") and not jumps:
        raise HostError(
            f"{shown}: {home / 'config'} has a ProxyCommand for {target.host}, which netlab does "
            "not run; use ProxyJump"
        )
    alias = str(said.get("hostkeyalias", ""))
    user = target.user or str(said.get("user", "")) or getpass.getuser()
    tokens = {"h": host, "k": alias or host, "n": target.host, "p": str(port), "r": user}
    tokens |= {"%": "%", "d": str(Path.home()), "u": getpass.getuser()}
    files = _known_hosts(str(said.get("userknownhostsfile", "")), tokens)
    return Endpoint(
        shown=shown,
        host=host,
        port=port,
        user=user,
        key_names=(alias,) if alias else entry_names(host, port),
        identities=tuple(Path(name).expanduser() for name in identities),
        named=bool(named),
        only_named=identity is not None or str(said.get("identitiesonly", "no")) == "yes",
        known_hosts=(
            *(files or (home / "known_hosts", home / "known_hosts2")),
            *SYSTEM_KNOWN_HOSTS,
        ),
        jumps=jumps,
    )


def entry_names(host: str, port: int) -> tuple[str, ...]:
    """How known_hosts names a host: ``[host]:port``, and ``host`` alone, which is for port 22."""
    return (host,) if port == 22 else (f"[{host}]:{port}", host)


def _known_hosts(joined: str, tokens: Mapping[str, str]) -> tuple[Path, ...]:
    """The files of a UserKnownHostsFile as ``_lines`` writes it; none where it names none.

    ``none`` stands for a file that is never there.
    """
    named = [name for name in joined.split(_BETWEEN) if name]
    filled = [
        re.sub("%(.)", lambda found: tokens.get(found[1], found[0]), name)
        if name.lower() != "none"
        else os.devnull
        for name in named
    ]
    return tuple(Path(os.path.expandvars(name)).expanduser() for name in filled)


def _jumps(text: str) -> tuple[SshTarget, ...]:
    if text.lower() == "none":
        return ()
    return tuple(parse_ssh(each.strip().removeprefix("ssh://")) for each in text.split(","))


def _lookup(shown: str, config: Path, name: str) -> dict[str, Any]:
    """What the file says of a name; nothing where there is no such file."""
    if not config.is_file():
        return {}
    try:
        lines = _lines(config, config.parent, MAX_INCLUDES)
        return dict(paramiko.SSHConfig.from_text("\n".join(lines)).lookup(name))
    except (SSHException, OSError, ValueError, ImportError) as error:
        # ImportError: `Match exec` needs a package that netlab does without.
        raise HostError(f"{shown}: {config} cannot be understood: {error}") from None


_INCLUDE = re.compile(r"\s*include(?:\s*=\s*|\s+)(.+)", re.IGNORECASE)
_FILES = re.compile(r"\s*userknownhostsfile(?:\s*=\s*|\s+)(.+)", re.IGNORECASE)
_BETWEEN = "\x1f"
"""Between the files of one line, which paramiko takes for one value with quotes around it."""
_BLOCK = re.compile(r"\s*(?:host|match)(?:\s*=\s*|\s+).+", re.IGNORECASE)


def _lines(file: Path, home: Path, depth: int) -> Iterator[str]:
    """The lines of a configuration with those of the files it includes (ssh_config(5))."""
    block = "Host *"
    for line in file.read_text(encoding="utf-8").splitlines():
        found, files = _INCLUDE.fullmatch(line), _FILES.fullmatch(line)
        if files is not None:
            yield f"UserKnownHostsFile {_BETWEEN.join(shlex.split(files[1]))}"
            continue
        if found is None:
            block = line if _BLOCK.fullmatch(line) else block
            yield line
            continue
        for pattern in found[1].replace('"', "").split():
            path = Path(pattern).expanduser()
            base, rest = (path.parent, path.name) if path.is_absolute() else (home, pattern)
            for each in sorted(base.glob(rest)) if depth else ():
                if each.is_file():
                    yield from _lines(each, home, depth - 1)
        # What follows belongs to the block that the inclusion stood in.
        yield block
