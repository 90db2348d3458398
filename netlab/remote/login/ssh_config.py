"""The endpoint of a login: an `ssh:` of the inventory, completed by ~/.ssh/config."""

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
"""Maximum depth of nested `Include` lines, as in OpenSSH."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A place to log in, with its settings in ~/.ssh/config."""

    shown: str
    """Its name in sentences."""
    host: str
    port: int
    user: str
    key_names: tuple[str, ...]
    """Its possible names in known_hosts, the exact name first."""
    identities: tuple[Path, ...]
    """Key files in the order to try."""
    named: bool
    """Whether the key files are configured; else they are OpenSSH's defaults."""
    only_named: bool
    """Whether only these key files may be tried, and no other key of ssh-agent."""
    known_hosts: tuple[Path, ...]
    jumps: tuple[SshTarget, ...]
    """Hosts to pass through, the nearest first."""


def endpoint(host_label: str, target: SshTarget, identity: str | None = None) -> Endpoint:
    """The endpoint of ``target``, with HostName, User, Port and so on from ~/.ssh/config.

    The inventory takes precedence. HostError if the file cannot be read, or if it requires
    something that netlab does not do.
    """
    home = Path.home() / ".ssh"
    config = _lookup(host_label, home / "config", target.host)
    host = str(config.get("hostname", target.host))
    identity_files = [identity] if identity else list(config.get("identityfile", ()))
    identities = identity_files or [str(home / name) for name in DEFAULT_IDENTITIES]
    try:
        port = target.port or int(config.get("port", 22))
        jumps = _jumps(str(config.get("proxyjump", "none")))
    except ValueError as error:
        raise HostError(f"{host_label}: {home / 'config'}, host {target.host}: {error}") from None
    if config.get("proxycommand") and not jumps:
        raise HostError(
            f"{host_label}: {home / 'config'} has a ProxyCommand for {target.host}, which netlab "
            "does not run; use ProxyJump"
        )
    alias = str(config.get("hostkeyalias", ""))
    user = target.user or str(config.get("user", "")) or getpass.getuser()
    tokens = {"h": host, "k": alias or host, "n": target.host, "p": str(port), "r": user}
    tokens |= {"%": "%", "d": str(Path.home()), "u": getpass.getuser()}
    files = _known_hosts(str(config.get("userknownhostsfile", "")), tokens)
    return Endpoint(
        shown=host_label,
        host=host,
        port=port,
        user=user,
        key_names=(alias,) if alias else entry_names(host, port),
        identities=tuple(Path(name).expanduser() for name in identities),
        named=bool(identity_files),
        only_named=identity is not None or str(config.get("identitiesonly", "no")) == "yes",
        known_hosts=(
            *(files or (home / "known_hosts", home / "known_hosts2")),
            *SYSTEM_KNOWN_HOSTS,
        ),
        jumps=jumps,
    )


def entry_names(host: str, port: int) -> tuple[str, ...]:
    """A host's names in known_hosts: ``host`` for port 22, else ``[host]:port`` and ``host``."""
    return (host,) if port == 22 else (f"[{host}]:{port}", host)


def _known_hosts(setting: str, tokens: Mapping[str, str]) -> tuple[Path, ...]:
    """The files that a UserKnownHostsFile line names, as ``_lines`` writes the line; may be empty.

    ``none`` becomes the null device, which has no keys.
    """
    names = [name for name in setting.split(_BETWEEN) if name]
    paths = [
        re.sub("%(.)", lambda match: tokens.get(match[1], match[0]), name)
        if name.lower() != "none"
        else os.devnull
        for name in names
    ]
    return tuple(Path(os.path.expandvars(name)).expanduser() for name in paths)


def _jumps(text: str) -> tuple[SshTarget, ...]:
    if text.lower() == "none":
        return ()
    return tuple(parse_ssh(jump.strip().removeprefix("ssh://")) for jump in text.split(","))


def _lookup(host_label: str, config: Path, name: str) -> dict[str, Any]:
    """The settings of a name in the file; empty if the file does not exist."""
    if not config.is_file():
        return {}
    try:
        lines = _lines(config, config.parent, MAX_INCLUDES)
        return dict(paramiko.SSHConfig.from_text("\n".join(lines)).lookup(name))
    except (SSHException, OSError, ValueError, ImportError) as error:
        # ImportError: `Match exec` needs the package invoke, which may be missing.
        raise HostError(f"{host_label}: {config} cannot be understood: {error}") from None


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
