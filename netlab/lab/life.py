"""Makes a lab (``up``), reports its state (``status``), and removes it (``down``).

A lab's keys and address ranges are kept from one ``up`` to the next ``up`` of the same name, so
that host keys that somebody has pinned stay valid. Keys are secrets: in their folder, links and
files of other accounts are refused, and files are opened relative to open folders, so that nobody
can swap a folder between its check and its use.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from netlab.errors import HostError, UsageError
from netlab.lab import network, programs, server, state, sudo
from netlab.lab.plan import SECOND, LabHost, LabOptions, LabPlan, Place, check_name, make_plan
from netlab.lab.programs import run
from netlab.lab.state import wish_of
from netlab.units import format_rate, format_share


def first_line(name: str) -> str:
    """The line by which ``up`` and ``down`` recognise the inventory of the lab of that name."""
    return f"# Written by `netlab lab up --name {name}`, removed by `netlab lab down`."


def texts_of(
    plan: LabPlan, keys: Mapping[str, str], identity: Path, known_hosts: Path
) -> tuple[str, str, str]:
    """The inventory (YAML), and known_hosts and a configuration for OpenSSH's client.

    ``keys``: public host key by host name. The configuration is for manual logins: `ssh -F
    /run/netlab/lab/ssh_config linux-a`. Texts of YAML are written as JSON strings.
    """
    lines, config = [first_line(plan.name), "hosts:"], ""
    for host in plan.logins:
        lines += [
            f"  {host.name}:",
            f"    os: {host.os}",
            f"    ssh: {json.dumps(f'{host.user}@{host.management_address}:22')}",
            f"    host_key: {json.dumps(keys[host.name])}",
            f"    identity: {json.dumps(str(identity))}",
            "    addresses:",
        ]
        for name, listed in host.networks.items():
            lines.append(f"      {name}: [{', '.join(map(json.dumps, listed))}]")
        config += (
            f"Host {host.name}\n"
            f"  HostName {host.management_address}\n"
            f"  User {host.user}\n"
            f'  IdentityFile "{identity}"\n'
            "  IdentitiesOnly yes\n"
            f'  UserKnownHostsFile "{known_hosts}"\n'
            "  StrictHostKeyChecking yes\n"
        )
    known = "".join(f"{host.management_address} {keys[host.name]}\n" for host in plan.logins)
    return "\n".join(lines) + "\n", known, config


PLACE = "place.json"
MOST_BYTES = 65536
"""Maximum length of a kept file; a key has about 400 bytes."""
OTHERS_MAY_ANYTHING = 0o077
OTHERS_MAY_WRITE = 0o022


def saved_keys_root() -> Path:
    """The folder of all labs' kept files: under XDG_STATE_HOME if it is set, else /var/lib."""
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (state if state.is_absolute() else Path("/var/lib")) / "netlab" / "labs"


def recall_keys(name: str, into: Path, keys: Iterable[str]) -> None:
    """Write the kept ``keys`` of a lab into its folder, with their public halves.

    Raises HostError if a file is accessible to others than root, or is not a key.
    """
    with _folder(name) as folder:
        for key in keys:
            private = None if folder is None else _read(name, folder, key)
            if private is None:
                continue
            file = into / key
            _write(None, str(file), private)
            try:
                public = run("ssh-keygen", "-y", "-P", "", "-f", str(file))
            except HostError:
                raise HostError(_refusal(name, key, "is not a key")) from None
            file.with_name(key + ".pub").write_text(public)


def keep_keys(plan: LabPlan, source: Path, keys: Iterable[str]) -> None:
    """Keep those ``keys`` of a lab's folder that are not kept yet, and its address ranges."""
    with _folder(plan.name, make=True) as folder:
        for key in keys:
            with suppress(FileExistsError):
                _write(folder, key, (source / key).read_bytes())
        # The addresses differ from the kept ones if the machine now has a route into the kept
        # ranges.
        with suppress(FileNotFoundError):
            os.unlink(PLACE, dir_fd=folder)
        _write(folder, PLACE, json.dumps(plan.place).encode())


def saved_places() -> Mapping[str, Place]:
    """Lab → its address ranges when it was up last. Files accessible to others are ignored."""
    ranges: dict[str, Place] = {}
    with suppress(OSError):
        for name in sorted(entry.name for entry in saved_keys_root().iterdir()):
            with suppress(HostError, ValueError, TypeError), _folder(name) as folder:
                text = None if folder is None else _read(name, folder, PLACE)
                if text is not None:
                    slot, management = json.loads(text)
                    ranges[name] = int(slot), str(management)
    return ranges


def forget_keys(name: str) -> None:
    """Remove the kept files of a lab; a link is removed itself and not followed."""
    with _folder(None) as labs, suppress(FileNotFoundError):
        if labs is None:
            return
        if stat.S_ISDIR(os.stat(name, dir_fd=labs, follow_symlinks=False).st_mode):
            shutil.rmtree(name, dir_fd=labs)
        else:
            os.unlink(name, dir_fd=labs)


@contextmanager
def _folder(name: str | None, *, make: bool = False) -> Iterator[int | None]:
    """The open folder of a lab (without ``name``: the folder of all labs); ``None`` if missing."""
    labs = saved_keys_root()
    steps = [labs.parent.name, labs.name, *([] if name is None else [name])]
    with ExitStack() as opened:
        if make:
            labs.parent.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder = os.open(labs.parent.parent, os.O_RDONLY | os.O_DIRECTORY)
            opened.callback(os.close, folder)
            for step in steps:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(step, 0o700, dir_fd=folder)
                folder = _open_folder(step, folder, labs, private=step == name)
                opened.callback(os.close, folder)
        except OSError:
            if make:
                raise
            yield None
            return
        yield folder


def _open_folder(step: str, above: int, labs: Path, *, private: bool) -> int:
    path = labs / step if private else labs
    try:
        folder = os.open(step, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=above)
    except FileNotFoundError:
        raise
    except OSError:
        complaint = "is not a real folder"
    else:
        info = os.fstat(folder)
        unwanted = OTHERS_MAY_ANYTHING if private else OTHERS_MAY_WRITE
        if info.st_uid == os.geteuid() and not info.st_mode & unwanted:
            return folder
        os.close(folder)
        complaint = "is accessible to others than root"
    raise HostError(f"{path} {complaint}, so no keys of labs are kept there: remove it")


def _read(name: str, folder: int, file: str) -> bytes | None:
    """A kept file's content, ``None`` without one; HostError if others can access the file."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        return None
    except OSError:
        raise HostError(_refusal(name, file, "is not a regular file")) from None
    try:
        info = os.fstat(descriptor)
        own = stat.S_ISREG(info.st_mode) and info.st_nlink == 1
        if not own or info.st_uid != os.geteuid() or info.st_mode & OTHERS_MAY_ANYTHING:
            raise HostError(_refusal(name, file, "is accessible to others than root"))
        return os.read(descriptor, MOST_BYTES)
    finally:
        os.close(descriptor)


def _write(folder: int | None, file: str, content: bytes) -> None:
    """Write a file that nobody else can ever read; FileExistsError if it exists."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(file, flags, 0o600, dir_fd=folder), "wb") as stream:
        stream.write(content)


def _refusal(name: str, file: str, complaint: str) -> str:
    remedy = f"run `netlab lab down --name {name} --forget`; the next `up` makes new keys"
    return f"{saved_keys_root() / name / file} {complaint}, so it is not used: {remedy}"


# The timer that refills a shaped cable's token bucket must wake on time: if it is late by more than
# the depth of the bucket (a time), the cable loses rate, as a real cable does not. A CPU in a deep
# sleep state wakes late, a virtual CPU by milliseconds, because its hypervisor has given the
# physical CPU to others. A latency that a process writes to this file limits how deep CPUs sleep,
# as long as the file is open (kernel documentation, "PM Quality Of Service Interface"). Cables
# without a rate need no timer, and a CPU that polls instead of sleeping takes execution units from
# the other thread of its core: a receiver that sleeps between its calls would appear slower.
DEVICE = Path("/dev/cpu_dma_latency")


@contextmanager
def limit_cpu_sleep(device: Path = DEVICE) -> Iterator[tuple[int, ...]]:
    """The descriptor, for processes to inherit, of the open file that limits CPU sleep; or none."""
    try:
        descriptor = os.open(device, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:  # a kernel without the device, or a container that hides it
        yield ()
        return
    try:
        os.write(descriptor, struct.pack("=i", 0))
        yield (descriptor,)
    finally:
        os.close(descriptor)


# The account of the hosts is not root, and the kernel allows ordinary users only some congestion
# controls. This list belongs to the whole machine, not to a namespace: the first lab extends it,
# and the last lab restores it.
SETTINGS = Path("/proc/sys/net/ipv4")
AVAILABLE = "tcp_available_congestion_control"
ALLOWED = "tcp_allowed_congestion_control"
BEFORE = ".congestion-before"
"""File with the original list, next to the labs' folders; no lab can have this name."""


def allow_congestion_controls(root: Path, settings: Path = SETTINGS) -> None:
    """Allow every congestion control of this kernel; does nothing if all are allowed already."""
    allowed, available = ((settings / name).read_text("ascii") for name in (ALLOWED, AVAILABLE))
    additions = [name for name in available.split() if name not in allowed.split()]
    if not additions:
        return
    backup = root / BEFORE
    if not backup.exists():
        backup.write_text(" ".join(allowed.split()))
    (settings / ALLOWED).write_text(" ".join([*allowed.split(), *additions]))


def restore_congestion_controls(root: Path, settings: Path = SETTINGS) -> None:
    """Restore the list; does nothing if no lab has changed it."""
    backup = root / BEFORE
    if backup.exists():
        (settings / ALLOWED).write_text(" ".join(backup.read_text("ascii").split()))
        backup.unlink()


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
            own = []
            if host.name in options.rates:
                own.append(f"cable {format_rate(options.rates[host.name])}")
            if host.name in options.mtus:
                own.append(f"MTU {options.mtus[host.name]}")
            if host.cpu_share is not None:
                own.append(f"{format_share(host.cpu_share)} of a CPU")
            if options.sends_frames(host):
                own.append("may send raw frames")
            if options.changes_settings(host):
                own.append("may change its settings with sudo")
            rows.append((host.name, ", ".join([login, *tests, *own])))
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
        "frames": options.sends_frames(host) or None,
        "sudo": options.changes_settings(host) or None,
    }
    return {
        "name": host.name,
        "os": host.os,
        "namespace": host.namespace,
        "ssh": f"{host.user}@{host.management_address}:22",
        "addresses": list(host.addresses),
        **{name: value for name, value in own.items() if value is not None},
    }


def up(options: LabOptions, say: Callable[[str], None] = lambda _: None) -> LabState:
    """Make a lab: namespaces, cables, an sshd per host, and the inventory. It takes 2 s at most.

    Windows hosts take a few seconds more, and the first ones on a machine take another ten; ``say``
    is called with a message about this delay. Raises UsageError for a name in use or impossible
    options, HostError if this machine cannot have a lab. In case of an error everything made so far
    is removed.
    """
    options.check()
    _require_root()
    missing = programs.missing_programs(programs.PROGRAMS)
    if options.windows:
        missing += programs.missing_programs(programs.WINDOWS_PROGRAMS)
    if options.sudo:
        missing += programs.missing_programs(programs.SUDO_PROGRAMS)
    if missing:
        remedy = f"install with `{programs.install_command(missing)}`"
        raise HostError(f"the virtual lab needs {', '.join(missing)}: {remedy}")
    file = options.hosts_file
    if file is not None and file.exists() and not _is_inventory_of(options.name, file):
        raise UsageError(
            f"--hosts {file}: the file exists and is not part of the lab {options.name}: name a "
            "new file"
        )
    with state.locked():
        folder = state.claim(options.name)
        try:
            _make(options, folder, say)
        except BaseException:
            _remove(options.name, folder)
            raise
    return status(options.name)


def _make(options: LabOptions, folder: Path, say: Callable[[str], None]) -> None:
    """Make everything of a lab in its folder, which is still empty."""
    plan = _plan(options, folder)
    state.write_plan(folder, plan)
    prefix = state.wine_template(say) if options.windows else None
    allow_congestion_controls(state.ROOT)
    network.make(plan)
    identity, known_hosts = folder / IDENTITY, folder / KNOWN_HOSTS
    keys = (IDENTITY, *map(server.key_name, plan.logins))
    recall_keys(plan.name, folder, keys)
    client_key = server.make_key(identity, f"netlab lab {options.name}")
    rates = [cable.shape_at(end)[0] for cable in plan.cables for end in cable.ends]
    with limit_cpu_sleep() if any(rates) else nullcontext(()) as sleepless:
        for host in plan.logins:
            windows = wish_of(prefix) if prefix is not None and host.os == "W" else None
            may_sudo = sudo.wish_of(host) if options.changes_settings(host) else None
            frames = options.sends_frames(host)
            server.start(host, folder, client_key, windows, sleepless, frames=frames, sudo=may_sudo)
    for host in plan.logins:
        server.await_ready(host, folder)
    # A public key is its type and the key itself; the comment is left out.
    lines = {host.name: (folder / f"{server.key_name(host)}.pub") for host in plan.logins}
    host_keys = {name: " ".join(file.read_text().split()[:2]) for name, file in lines.items()}
    inventory, known, config = texts_of(plan, host_keys, identity, known_hosts)
    known_hosts.write_text(known)
    (folder / SSH_CONFIG).write_text(config)
    try:
        plan.hosts_file.write_text(inventory)
    except OSError as error:
        raise UsageError(f"--hosts {plan.hosts_file}: {error.strerror}") from None
    try:
        keep_keys(plan, folder, keys)
    except OSError as error:  # the lab still works
        say(f"{saved_keys_root()}: {error.strerror}: the next `up` will have other keys")
    (folder / state.COMPLETE).touch()


def _plan(options: LabOptions, folder: Path) -> LabPlan:
    lab_slots = {state.slot_of(state.folder_of(name)) for name in state.names()}
    slots = network.slots_in_use() | {slot for slot in lab_slots if slot is not None}
    routes, places = network.routed_networks(), saved_places()
    plan = make_plan(options, folder, routes=routes, taken_slots=slots, places=places)
    network.refuse_taken_names(plan)
    return plan


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
    """Faults of a lab that was started: a host, ``switch``, ``router`` or ``lab`` → a sentence."""
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
            for host, fault in zip(reachable, answers, strict=True):
                if fault is not None:
                    failures[host.name] = f"refuses logins: {fault}"
        for host in reachable:
            if of.plan.options.changes_settings(host) and not sudo.helper_lives(host):
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
            forget_keys(name)


def _remove(name: str, folder: Path) -> None:
    """Remove processes, network, inventory and folder; each step may already be done."""
    plan = state.read_plan(folder)
    if plan is not None:
        for host in plan.logins:
            server.stop(host, folder)
        network.remove(plan)
        if _is_inventory_of(plan.name, plan.hosts_file):
            plan.hosts_file.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    if not state.names():
        restore_congestion_controls(state.ROOT)


def _is_inventory_of(name: str, file: Path) -> bool:
    try:
        with file.open(encoding="utf-8", errors="replace") as text:
            return text.readline().rstrip("\n") == first_line(name)
    except OSError:
        return False


def _require_root() -> None:
    if sys.platform != "linux":
        raise HostError("the virtual lab needs Linux, because it uses network namespaces")
    if os.geteuid() != 0:
        raise HostError("the virtual lab needs root for network namespaces: try again with sudo")
