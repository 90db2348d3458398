"""Hosts and tests as YAML, for files that people edit further. No I/O."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from netlab.experiment.hosts import Host
from netlab.measurement.conversation import destination

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*", re.ASCII)
_NO_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that readers of YAML 1.1 and 1.2 do not read as text."""


def host_lines(hosts: Iterable[Host]) -> Iterator[str]:
    """The lines below ``hosts:``, one per host; each host once."""
    for name, host in {host.name: host for host in hosts}.items():
        yield f"  {flow(name)}: {flow(entry_of(host))}"


def entry_of(host: Host) -> Mapping[str, Any]:
    """The entry of a host, in the form that it has in an inventory."""
    ssh = host.ssh
    entry: dict[str, Any] = {}
    if host.local:
        entry["local"] = True
    elif ssh is not None:
        bare = f"[{ssh.host}]" if ":" in ssh.host else ssh.host
        user = "" if ssh.user is None else f"{ssh.user}@"
        entry["ssh"] = f"{user}{bare}" + ("" if ssh.port is None else f":{ssh.port}")
    entry["os"] = host.os
    if host.mirror is not None:
        entry["mirror"] = {"address": host.mirror.address, "port": host.mirror.port}
    if host.serves:
        entry["serves"] = {
            name: destination(at.address, at.port) for name, at in host.serves.items()
        }
    if host.has_agent:
        entry["addresses"] = {name: list(listed) for name, listed in host.addresses.items()}
    optional = {"machine": host.machine, "identity": host.identity, "host_key": host.host_key}
    entry |= {name: value for name, value in optional.items() if value is not None}
    if host.ports is not None:
        entry["port_range"] = host.ports
    return entry


def flow(value: Any) -> str:
    """A value in YAML's flow style, on one line. Apart from words and keys without quotes, the
    text is JSON, and JSON is also YAML (specification of YAML 1.2, section 1.3).
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    is_word = isinstance(value, str) and _WORD.fullmatch(value) and value.lower() not in _NO_WORDS
    return value if is_word else json.dumps(value, ensure_ascii=False)
