"""Makes a lab (``up``), reports its state (``status``), and removes it (``down``)."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netlab.errors import HostError, UsageError
from netlab.lab import (
    congestion,
    cpu_latency,
    inventory,
    network,
    saved_keys,
    server,
    state,
    sudo,
    wine,
)
from netlab.lab.options import LabOptions, check_name
from netlab.lab.plan import ROUTER, SECOND, LabHost, LabPlan, make_plan
from netlab.lab.programs import missing_for_sudo, missing_for_windows, missing_packages
from netlab.lab.windows import wish_of
from netlab.units import format_rate, format_share

IDENTITY = "id"
KNOWN_HOSTS = "known_hosts"
SSH_CONFIG = "ssh_config"


@dataclass(frozen=True, slots=True)
class LabState:
    """The state of a lab."""

    name: str
    up: bool
    """Whether every namespace, cable and sshd exists, and ``up`` was completed."""
    plan: LabPlan | None
    """None if no lab of that name was started."""
    folder: Path

    @property
    def hosts_file(self) -> Path | None:
        """The inventory; None if there is no lab."""
        return None if self.plan is None else self.plan.hosts_file

    @property
    def hosts(self) -> tuple[LabHost, ...]:
        """The lab's hosts, in the inventory's order."""
        return () if self.plan is None else self.plan.hosts

    @property
    def ssh_config(self) -> Path:
        """The configuration file for OpenSSH's client: ``ssh -F FILE linux-a``."""
        return self.folder / SSH_CONFIG

    def as_json(self) -> dict[str, Any]:
        """Plain data; ``rate`` in bit/s, null if the cable is unshaped."""
        plain: dict[str, Any] = {"name": self.name, "up": self.up}
        if self.plan is None:
            return {**plain, "hosts": [], "hosts_file": None}
        options = self.plan.options
        return {
            **plain,
            "hosts_file": str(self.plan.hosts_file),
            "ssh_config": str(self.ssh_config),
            "rate": options.rate,
            "mtu": options.mtu,
            "queue_frames": self.plan.cables[0].queue_frames if options.rate else None,
            "checksums": options.checksums,
            "switch": self.plan.switch,
            "router": self.plan.router,
            "device_rate": options.device_rate,
            "device_queue_frames": self.plan.cables[0].device_queue_frames,
            **({} if options.second_rate is None else {"second_rate": options.second_rate}),
            "hosts": [_host_as_json(host, options) for host in self.hosts],
        }

    def as_text(self) -> str:
        """The state as text for people."""
        if self.plan is None:
            return f"lab {self.name}: not up"
        options = self.plan.options
        rate = "unshaped" if options.rate is None else format_rate(options.rate)
        down = f"`netlab lab down --name {self.name}`"
        condition = "up" if self.up else f"incomplete: {down} removes what is left of it"
        count = len([cable for cable in self.plan.cables if cable.ends[0].interface != SECOND])
        cables = "cable" if count == 1 else "cables"
        through = "" if self.plan.switch is None else f", {count} into a switch"
        if self.plan.router is not None:
            through = f", {count} to a router"
        rows = [(cables, f"{rate}, MTU {options.mtu}{through}")]
        if self.plan.router is not None:
            forwards = "everything that arrives"
            if options.device_rate is not None:
                forwards = f"{format_rate(options.device_rate)} each way"
            rows.append(("router", f"forwards {forwards}"))
            if (device := self.plan.device) is not None:
                rows.append(("", f"to observe: ssh {device.user}@{device.management_address}:22"))
        if options.second_rate is not None:
            more = len(self.plan.cables) - count
            rows.append((SECOND, f"{format_rate(options.second_rate)}, {more} more"))
        for host in self.hosts:
            tests = [f"{name} {', '.join(listed)}" for name, listed in host.networks.items()]
            login = f"ssh {host.user}@{host.management_address}:22"
            rows.append((host.name, ", ".join([login, *tests, *_own(host, options)])))
        rows.append(("hosts", str(self.hosts_file)))
        width = max(len(left) for left, _ in rows)
        lines = [f"  {left:{width}}  {right}" for left, right in rows]
        return "\n".join([f"lab {self.name}: {condition}", *lines])


def _host_as_json(host: LabHost, options: LabOptions) -> dict[str, Any]:
    own = {
        "second": list(host.second) or None,
        "rate": options.rates.get(host.name),
        "mtu": options.mtus.get(host.name),
        "cpu_share": host.cpu_share,
        "frames": _sends_frames(host, options) or None,
        "sudo": _changes_settings(host, options) or None,
    }
    return {
        "name": host.name,
        "os": host.os,
        "namespace": host.namespace,
        "ssh": f"{host.user}@{host.management_address}:22",
        "addresses": list(host.addresses),
        **{name: value for name, value in own.items() if value is not None},
    }


def _own(host: LabHost, options: LabOptions) -> list[str]:
    """Descriptions of a host's own settings."""
    words = []
    if host.name in options.rates:
        words.append(f"cable {format_rate(options.rates[host.name])}")
    if host.name in options.mtus:
        words.append(f"MTU {options.mtus[host.name]}")
    if host.cpu_share is not None:
        words.append(f"{format_share(host.cpu_share)} of a CPU")
    if _sends_frames(host, options):
        words.append("may send raw frames")
    if _changes_settings(host, options):
        words.append("may change its settings with sudo")
    return words


def _sends_frames(host: LabHost, options: LabOptions) -> bool:
    return options.frames and host.os == "L"


def _changes_settings(host: LabHost, options: LabOptions) -> bool:
    return options.sudo and host.os == "L" and host.name != ROUTER


def up(options: LabOptions, say: Callable[[str], None] = lambda _: None) -> LabState:
    """Make a lab: namespaces, cables, an sshd per host, and the inventory. It takes 2 s at most.

    Windows hosts take a few seconds more, and the first ones on a machine take another ten; ``say``
    is called with a message about this delay. Raises UsageError for a name in use or impossible
    options, HostError if this machine cannot have a lab. In case of an error everything made so far
    is removed.
    """
    options.check()
    _require_root()
    _require_programs(options)
    _refuse_foreign_file(options)
    with state.locked():
        folder = state.claim(options.name)
        try:
            plan = _plan(options, folder)
            state.write_plan(folder, plan)
            prefix = wine.template(say) if options.windows else None
            congestion.widen(state.ROOT)
            network.make(plan)
            identity = folder / IDENTITY
            keys = (IDENTITY, *map(server.key_name, plan.logins))
            saved_keys.recall(plan.name, folder, keys)
            client_key = server.make_key(identity, f"netlab lab {options.name}")
            with cpu_latency.limit() if plan.is_shaped else nullcontext(()) as sleepless:
                for host in plan.logins:
                    windows = wish_of(prefix) if prefix is not None and host.os == "W" else None
                    frames = _sends_frames(host, options)
                    may_sudo = _changes_settings(host, options)
                    # fmt: off
                    server.start(
                        host, folder, client_key, windows, sleepless, frames=frames,
                        sudo=sudo.wish_of(host) if may_sudo else None,
                    )
                    # fmt: on
            for host in plan.logins:
                server.await_ready(host, folder)
            _write_inventory(plan, folder, identity)
            _keep(plan, folder, keys, say)
            state.mark_complete(folder)
        except BaseException:
            _remove(options.name, folder)
            raise
    return status(options.name)


def status(name: str = "lab") -> LabState:
    """The current state of the lab of that name."""
    check_name(name)
    folder = state.folder_of(name)
    plan = state.read_plan(folder)
    alive = (
        plan is not None
        and state.is_complete(folder)
        and not any(network.missing(plan))
        and all(server.lives(host, folder) for host in plan.logins)
    )
    return LabState(name=name, up=alive, plan=plan, folder=folder)


def broken_pieces(of: LabState) -> dict[str, str]:
    """Faults of a lab that was started. Key: a host, ``switch``, ``router`` or ``lab``; value: the
    missing part, a sentence that its sshd has ended, or the reason why a login fails.
    """
    if of.plan is None:
        return {}
    names = {host.namespace: host.name for host in of.plan.logins}
    failures: dict[str, str] = {}
    for namespace, why in network.missing(of.plan):
        piece = "switch" if namespace and namespace == of.plan.switch else "lab"
        failures.setdefault(names.get(namespace, piece), why)
    present = [host for host in of.plan.logins if host.name not in failures]
    for host in present:
        if not server.lives(host, of.folder):
            failures[host.name] = f"its sshd has ended: {server.last_words(host, of.folder)}"
    reachable = [host for host in present if host.name not in failures]
    if state.is_complete(of.folder) and reachable:
        with ThreadPoolExecutor(len(reachable)) as pool:
            answers = pool.map(lambda host: server.why_silent(host, of.ssh_config), reachable)
            silent = {host.name: why for host, why in zip(reachable, answers, strict=True)}
        failures |= {
            name: f"refuses logins: {why}" for name, why in silent.items() if why is not None
        }
        for host in reachable:
            if _changes_settings(host, of.plan.options) and not sudo.helper_lives(host):
                why = "its sudo helper has ended, so no setting can be changed"
                failures.setdefault(host.name, why)
    return failures


def down(name: str = "lab", *, forget: bool = False) -> None:
    """Remove everything that ``up`` made, also after a crash, and nothing else.

    The keys and addresses are kept for the next lab of that name, unless ``forget`` is set. If no
    lab has that name, this is not an error.
    """
    check_name(name)
    _require_root()
    if not (forget or state.folder_of(name).exists()):
        return
    with state.locked():
        if state.folder_of(name).exists():
            _remove(name, state.folder_of(name))
        if forget:
            saved_keys.forget(name)


def _remove(name: str, folder: Path) -> None:
    """Remove processes, network, inventory and folder; each step may already be done."""
    plan = state.read_plan(folder)
    if plan is not None:
        for host in plan.logins:
            server.stop(host, folder)
        network.remove(plan)
        if _is_inventory_of(plan.name, plan.hosts_file):
            plan.hosts_file.unlink()
    state.forget(folder)
    if not state.names():
        congestion.restore(state.ROOT)


def _plan(options: LabOptions, folder: Path) -> LabPlan:
    lab_slots = {state.slot_of(state.folder_of(name)) for name in state.names()}
    slots = network.slots_in_use() | {slot for slot in lab_slots if slot is not None}
    plan = make_plan(
        options,
        folder,
        routes=network.routed_networks(),
        taken_slots=slots,
        places=saved_keys.places(),
    )
    network.refuse_taken_names(plan)
    return plan


def _keep(plan: LabPlan, folder: Path, keys: Iterable[str], say: Callable[[str], None]) -> None:
    """Keep the keys. If the disk refuses, the lab still works, and ``say`` gets a message."""
    try:
        saved_keys.keep(plan, folder, keys)
    except OSError as error:
        say(f"{saved_keys.root()}: {error.strerror}: the next `up` will have other keys")


def _write_inventory(plan: LabPlan, folder: Path, identity: Path) -> None:
    keys = {host.name: server.public_key(host, folder) for host in plan.logins}
    known_hosts = folder / KNOWN_HOSTS
    known_hosts.write_text(inventory.known_hosts_text(plan, keys))
    (folder / SSH_CONFIG).write_text(inventory.ssh_config_text(plan, identity, known_hosts))
    try:
        plan.hosts_file.write_text(inventory.inventory_text(plan, keys, identity))
    except OSError as error:
        raise UsageError(f"--hosts {plan.hosts_file}: {error.strerror}") from None


def _refuse_foreign_file(options: LabOptions) -> None:
    file = options.hosts_file
    if file is not None and file.exists() and not _is_inventory_of(options.name, file):
        raise UsageError(
            f"--hosts {file}: the file exists and is not part of the lab {options.name}: name a "
            "new file"
        )


def _is_inventory_of(name: str, file: Path) -> bool:
    try:
        with file.open(encoding="utf-8", errors="replace") as text:
            return text.readline().rstrip("\n") == inventory.first_line(name)
    except OSError:
        return False


def _require_root() -> None:
    if sys.platform != "linux":
        raise HostError("the virtual lab needs Linux, because it uses network namespaces")
    if os.geteuid() != 0:
        raise HostError("the virtual lab needs root for network namespaces: try again with sudo")


def _require_programs(options: LabOptions) -> None:
    shortage = missing_packages()
    if options.windows:
        shortage += missing_for_windows()
    if options.sudo:
        shortage += missing_for_sudo()
    if shortage:
        raise HostError(
            f"the virtual lab needs {', '.join(shortage.programs)}: "
            f"install with `{shortage.command}`"
        )
