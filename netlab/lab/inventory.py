"""The texts of a lab's inventory (for `netlab run --hosts`), known_hosts and ssh_config files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from netlab.lab.plan import LabPlan


def first_line(name: str) -> str:
    """The line by which ``up`` and ``down`` recognise the inventory of the lab of that name."""
    return f"# Written by `netlab lab up --name {name}`, removed by `netlab lab down`."


def inventory_text(plan: LabPlan, keys: Mapping[str, str], identity: Path) -> str:
    """YAML: each host with its pinned key, the client's key file and its test addresses.

    ``keys``: public host key by host name. Texts are written as JSON strings, which are YAML too.
    """
    lines = [first_line(plan.name), "hosts:"]
    for host in plan.logins:
        addresses = [
            f"      {name}: [{', '.join(map(json.dumps, listed))}]"
            for name, listed in host.networks.items()
        ]
        lines += [
            f"  {host.name}:",
            f"    os: {host.os}",
            f"    ssh: {json.dumps(f'{host.user}@{host.management_address}:22')}",
            f"    host_key: {json.dumps(keys[host.name])}",
            f"    identity: {json.dumps(str(identity))}",
            "    addresses:",
            *addresses,
        ]
    return "\n".join(lines) + "\n"


def known_hosts_text(plan: LabPlan, keys: Mapping[str, str]) -> str:
    """The public host keys as a known_hosts file for OpenSSH's client; ``keys`` by host name."""
    return "".join(f"{host.management_address} {keys[host.name]}\n" for host in plan.logins)


def ssh_config_text(plan: LabPlan, identity: Path, known_hosts: Path) -> str:
    """OpenSSH's configuration for manual logins: `ssh -F /run/netlab/lab/ssh_config linux-a`."""
    return "".join(
        f"Host {host.name}\n"
        f"  HostName {host.management_address}\n"
        f"  User {host.user}\n"
        f'  IdentityFile "{identity}"\n'
        "  IdentitiesOnly yes\n"
        f'  UserKnownHostsFile "{known_hosts}"\n'
        "  StrictHostKeyChecking yes\n"
        for host in plan.logins
    )
