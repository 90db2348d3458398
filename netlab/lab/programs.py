"""The system programs that the lab uses, a try of its needs, and the CPU quota of a host.

For a quota, one control group (cgroup v1 or v2) has all processes of the host, and the kernel gives
it a limited CPU time in each period. Work outside processes has no quota: the kernel forwards and
receives frames in softirq, on the core on which the sender runs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from netlab.errors import HostError
from netlab.lab.plan import LabHost

PROGRAMS = {
    "ip": "iproute2",
    "tc": "iproute2",
    "ethtool": "ethtool",
    "sshd": "openssh-server",
    "ssh-keygen": "openssh-client",
    "unshare": "util-linux",
    "mount": "mount",
    "sysctl": "procps",
}
"""Program → Debian package that contains it."""

WINDOWS_PROGRAMS = {
    "wine64": "wine64",  # starts 64-bit Windows programs
    "wineserver64": "wine64",  # the kernel of one Windows host, which makes all its sockets
    "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64",
    "setpriv": "util-linux",
    "setarch": "util-linux",
}

SUDO_PROGRAMS = {"setpriv": "util-linux"}

FEDORA_PACKAGES = {
    "ip": "iproute",
    "tc": "iproute-tc",
    "ssh-keygen": "openssh",
    "mount": "util-linux-core",
    "sysctl": "procps-ng",
    "wine64": "wine-core",
    "wineserver64": "wine-core",
    "x86_64-w64-mingw32-gcc": "mingw64-gcc",
}
"""Program → Fedora package, if it has another name than Debian's."""

SEARCH_PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
"""PATH and the system's folders: after ``su`` without ``-``, root's PATH lacks these folders."""
WINE_SEARCH_PATH = os.pathsep.join(["/usr/lib/wine", SEARCH_PATH])
"""Debian has wine's binaries in /usr/lib/wine; wine in PATH is a script that prints a message."""

TIME_LIMIT_S = 20.0
"""Every program here takes a fraction of a second; one that hangs must not block netlab."""


def install_command(missing: Iterable[str]) -> str:
    """The command that installs the programs on Debian, Fedora or a derivative."""
    packages = PROGRAMS | WINDOWS_PROGRAMS | SUDO_PROGRAMS
    debian, fedora = (
        f"sudo {manager} install {' '.join(dict.fromkeys(names[name] for name in missing))}"
        for manager, names in (("apt-get", packages), ("dnf", packages | FEDORA_PACKAGES))
    )
    if has_dnf():
        return fedora
    if shutil.which("apt-get", path=SEARCH_PATH):
        return debian
    return f"{debian} (Fedora: {fedora})"


def has_dnf() -> bool:
    """Whether this machine uses packages of Fedora or a derivative."""
    apt, dnf = (shutil.which(name, path=SEARCH_PATH) for name in ("apt-get", "dnf"))
    return dnf is not None and apt is None


def missing_programs(
    names: Iterable[str] = PROGRAMS, search_path: str = WINE_SEARCH_PATH
) -> tuple[str, ...]:
    """Those of the programs ``names``, which every lab needs, that ``search_path`` does not have.

    Windows hosts also need ``WINDOWS_PROGRAMS``, and a lab with ``--sudo`` ``SUDO_PROGRAMS``.
    """
    return tuple(name for name in names if shutil.which(name, path=search_path) is None)


def program(name: str) -> str:
    """The absolute path of a program. sshd needs its own path to execute itself again."""
    path = shutil.which(name, path=WINE_SEARCH_PATH)
    if path is None:
        raise HostError(f"the program {name} is missing: {install_command([name])}")
    return path


def environment() -> dict[str, str]:
    """An environment in which messages are English and the system's programs are found."""
    return {**os.environ, "PATH": SEARCH_PATH, "LC_ALL": "C"}


def run(*argv: str) -> str:
    """Run a program to its end and return its standard output.

    Raises HostError with one line: the command, and the last line that it printed.
    """
    process = finished(argv)
    if process.returncode:
        output = process.stderr.strip() or process.stdout.strip()
        lines = output.splitlines() or [f"exit status {process.returncode}"]
        raise HostError(f"`{' '.join(argv)}` failed: {lines[-1]}")
    return process.stdout


def succeeds(*argv: str) -> bool:
    """Whether a program ends with status 0; its output is ignored."""
    return finished(argv).returncode == 0


def finished(
    argv: Sequence[str], limit_s: float = TIME_LIMIT_S
) -> subprocess.CompletedProcess[str]:
    """A program that has ended, with what it printed; HostError if that took too long."""
    try:
        return subprocess.run(
            [program(argv[0]), *argv[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=limit_s,
            env=environment(),
            check=False,
            close_fds=False,  # the program shares the lock on all labs, see state.locked
        )
    except subprocess.TimeoutExpired:
        raise HostError(f"`{' '.join(argv)}` gave no answer in {limit_s:g} s") from None


ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
"""Period of the quota in µs; the default of the kernel and of containers."""
GONE_S = 5.0
POLL_S = 0.01

ADVICE = "a CPU quota needs the control group controller `cpu`, and the right to write to it"
ENTER = 'echo $$ > "$0" && exec "$@"'


@dataclass(frozen=True, slots=True)
class Controller:
    """Where this machine keeps its CPU quotas."""

    folder: Path
    version: int

    @property
    def mount(self) -> Mapping[str, str]:
        """The mount that shows a host its group at the usual place: type, options, target."""
        if self.version == 2:
            return {"type": "cgroup2", "options": "", "at": str(ROOT)}
        name = self.folder.name
        return {"type": "cgroup", "options": name, "at": str(ROOT / name)}

    def limit(self, share: float) -> Mapping[str, str]:
        """File → text to write into it, for this share of one CPU."""
        quota_us = round(share * PERIOD_US)
        if self.version == 2:
            return {"cpu.max": f"{quota_us} {PERIOD_US}"}
        return {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": str(quota_us)}


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """The control group of one host."""

    folder: Path
    mount: Mapping[str, str]

    def entered(self, argv: Sequence[str]) -> list[str]:
        """A command that enters the group and executes ``argv``, with the same process number."""
        return ["/bin/sh", "-c", ENTER, str(self.folder / "cgroup.procs"), *argv]


def quota_controller(root: Path = ROOT) -> Controller | None:
    """The CPU controller of this machine, if groups can be made in it; otherwise ``None``.

    In version 1 the name of the folder lists its controllers, such as ``cpu,cpuacct``; links to it
    that have the name of one controller are ignored.
    """
    result = None
    for folder in sorted(root.glob("*cpu*")):
        is_cpu = "cpu" in folder.name.split(",") and not folder.is_symlink()
        if is_cpu and (folder / "cpu.cfs_quota_us").exists():
            result = Controller(folder, 1)
    listed = root / "cgroup.controllers"
    if listed.exists() and "cpu" in listed.read_text(encoding="ascii").split():
        result = Controller(root, 2)
    return result if result is not None and os.access(result.folder, os.W_OK) else None


def quota_remedy(root: Path = ROOT) -> str | None:
    """The command that provides a CPU controller; ``None`` if this machine already has one."""
    if quota_controller(root) is not None:
        return None
    if not any(root.glob("cgroup.controllers")) and not any(root.glob("*cpu*")):
        return f"{root} has no control groups: sudo mount -t cgroup2 none {root}"
    listed = root / "cgroup.controllers"
    if listed.exists() and "cpu" not in listed.read_text(encoding="ascii").split():
        return (
            f"{root} has no controller `cpu`; in a container: docker run --privileged "
            "--cgroupns=host; on a machine: remove cgroup_disable=cpu from the kernel's parameters"
        )
    return (
        f"{root} may not be written: sudo mount -o remount,rw {root}; "
        "in a container: docker run --privileged --cgroupns=host"
    )


def make_quota(host: LabHost, share: float, root: Path = ROOT) -> ControlGroup:
    """Make the group of a host, limited to a share of one CPU. Raises HostError if impossible.

    In version 2 the root group must delegate the controller to its groups. If it does not, this
    function makes it delegate the controller, which limits no process.
    """
    cpu_controller = quota_controller(root)
    if cpu_controller is None:
        raise HostError(f"--cpu-quota {host.name}: {root} has no CPU controller: {ADVICE}")
    group = cpu_controller.folder / host.namespace
    try:
        if cpu_controller.version == 2:
            handed_on = cpu_controller.folder / "cgroup.subtree_control"
            if "cpu" not in handed_on.read_text(encoding="ascii").split():
                handed_on.write_text("+cpu")
        group.mkdir()
        for name, value in cpu_controller.limit(share).items():
            (group / name).write_text(value)
    except OSError as error:
        words = f"{error.filename or group}: {error.strerror}"
        raise HostError(f"--cpu-quota {host.name}: {words}: {ADVICE}") from None
    return ControlGroup(group, cpu_controller.mount)


def remove_quota(host: LabHost, root: Path = ROOT) -> None:
    """Remove the group of a host whose processes have ended; does nothing if there is none."""
    cpu_controller = quota_controller(root)
    if cpu_controller is None:
        return
    group = cpu_controller.folder / host.namespace
    end = time.monotonic() + GONE_S
    while group.is_dir():
        try:
            group.rmdir()
        except OSError as error:
            # The last process of the group may still be ending.
            if time.monotonic() > end:
                words = f"{group}: {error.strerror}: it contains a process of another program"
                raise HostError(words) from None
            time.sleep(POLL_S)


LINUX = "the lab"
WINDOWS = "Windows hosts"
QUOTAS = "CPU quotas"
SUDO = "--sudo"

VETH = "ip link add name one type veth peer name two"
BRIDGE = "ip link add name three type bridge"
SHAPER = (
    f"{VETH} && tc qdisc add dev one root stab overhead 24 linklayer ethernet mpu 84 tbf "
    "rate 1mbit burst 3200 limit 32000"
)
LAYERS = (
    "mount -t tmpfs netlab /tmp && cd /tmp && mkdir a b c d && "
    "mount -t overlay -o lowerdir=a,upperdir=b,workdir=c netlab d"
)
LIMITS = Path("/proc/sys/user")
RIGHTS = (
    "root lacks a right; in a container: docker run --cap-add SYS_ADMIN --cap-add NET_ADMIN "
    "--security-opt apparmor=unconfined (podman the same)"
)
KERNEL = "this kernel was built without namespaces; sudo apt-get install linux-image-amd64"


@dataclass(frozen=True, slots=True)
class LabNeed:
    """One thing that a lab needs."""

    needed_for: str
    what: str
    remedy: str | None
    """One line with the command that fulfils the need; None if it is fulfilled."""

    def as_text(self) -> str:
        """The need as one line of text."""
        if self.remedy is None:
            return f"ok       {self.needed_for}: {self.what}"
        return f"missing  {self.needed_for}: {self.what}: {self.remedy}"


def examine() -> tuple[LabNeed, ...]:
    """Everything that a lab needs, present or missing, in the order in which to fix it.

    Each try runs in its own namespaces, which end with the try; the machine is not changed.
    """
    root = LabNeed(LINUX, "root", None if os.geteuid() == 0 else "sudo netlab lab doctor")
    if sys.platform != "linux":
        root = LabNeed(LINUX, "Linux", "it is made on a Linux machine: sudo netlab lab up")
    needs = [root, _programs(LINUX, PROGRAMS)]
    can_try = all(need.remedy is None for need in needs)
    needs.append(_programs(WINDOWS, WINDOWS_PROGRAMS))
    if can_try:
        namespaces = _trial(LINUX, "network, mount and process namespaces", "true")
        needs.append(namespaces)
        can_try = namespaces.remedy is None
    if can_try:  # the other tries need such namespaces
        needs += [
            _trial(LINUX, "veth", VETH, "veth"),
            _trial(LINUX, "bridge", BRIDGE, "bridge"),
            _trial(LINUX, "token bucket (tbf)", SHAPER, "sch_tbf"),
            LabNeed(QUOTAS, "control groups", quota_remedy()),
            _programs(SUDO, SUDO_PROGRAMS),
            _trial(WINDOWS, "overlay file systems", LAYERS, "overlay"),
        ]
    return tuple(needs)


def _programs(needed_for: str, names: Iterable[str]) -> LabNeed:
    if missing := missing_programs(names):
        return LabNeed(needed_for, ", ".join(missing), install_command(missing))
    return LabNeed(needed_for, "programs", None)


def _trial(needed_for: str, need: str, script: str, module: str | None = None) -> LabNeed:
    namespaces = "--net --mount --pid --uts --fork --kill-child --mount-proc"
    try:
        run("unshare", *namespaces.split(), "sh", "-ec", script)
    except HostError as error:
        reason = str(error).rpartition("` failed: ")[2]
        return LabNeed(needed_for, need, f"{reason}: {_remedy(reason, module)}")
    return LabNeed(needed_for, need, None)


def _remedy(reason: str, module: str | None) -> str:
    """The remedy for a failed program's message; ``module``: the kernel module that it needs."""
    if "not permitted" in reason or "ermission denied" in reason:
        return RIGHTS
    if "No space left" in reason:
        files = [LIMITS / f"max_{kind}_namespaces" for kind in ("net", "mnt", "pid", "uts")]
        low = [file for file in files if int(file.read_text(encoding="ascii")) == 0]
        settings = [f"user.{limit.name}=10000" for limit in low or files]
        return f"sudo sysctl -w {' '.join(settings)}"
    if module is None:
        return KERNEL
    further = "sudo apt-get install linux-modules-extra-$(uname -r)"
    if has_dnf():
        further = "sudo dnf install kernel-modules-extra"
    return f"sudo modprobe {module} (if there is no such module: {further})"
