"""A lab's folder under /run, the lock on all labs, and what its Windows hosts start from.

Only root can access the folder, because it contains the client's private key. The folder also
reserves the lab's name: ``up`` makes it first, ``down`` removes it last. A reboot empties /run and
also removes the namespaces.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from netlab.errors import HostError, UsageError
from netlab.lab.plan import ACCOUNT, LabPlan, plan_from_json
from netlab.lab.programs import environment, program, run

ROOT = Path("/run/netlab")
"""Folder of all labs of this machine. There is only one, so that ``down`` finds every lab."""

PLAN = "plan.json"
COMPLETE = "complete"
"""File that ``up`` makes when it is complete."""


def folder_of(name: str) -> Path:
    """Where the lab of that name keeps its files."""
    return ROOT / name


@contextmanager
def locked() -> Iterator[None]:
    """Lock all labs of this machine: one ``up`` or ``down`` at a time.

    The lock is on the folder itself, so that no lock file is left after the last lab. If the
    folder was removed while a process waited for the lock, the process starts over.

    Programs started by ``programs.run`` share the lock. When an ``up`` is killed, its last `ip`
    still runs for a moment; a ``down`` must wait until this program has finished.
    """
    import fcntl  # missing on some systems that can import this module

    while True:
        ROOT.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(ROOT, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.set_inheritable(descriptor, True)
            try:
                if ROOT.stat().st_ino != os.fstat(descriptor).st_ino:
                    continue
            except FileNotFoundError:
                continue
            try:
                yield
            finally:
                if not any(ROOT.iterdir()):
                    ROOT.rmdir()
            return
        finally:
            os.close(descriptor)


def claim(name: str) -> Path:
    """Make the lab's folder, or raise UsageError if the name is in use."""
    folder = folder_of(name)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        complaint = "is up" if (folder / COMPLETE).exists() else "is left from an interrupted `up`"
        raise UsageError(
            f"the lab {name} {complaint}: run `netlab lab down --name {name}` first, or choose "
            "another --name"
        ) from None
    return folder


def names() -> tuple[str, ...]:
    """Labs that have a folder, complete or not; none for an account without access."""
    try:
        return tuple(sorted(entry.name for entry in ROOT.iterdir() if entry.is_dir()))
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return ()


def write_plan(folder: Path, plan: LabPlan) -> None:
    """Save the plan atomically; no piece of the lab may be made before this call."""
    _write_whole(folder / PLAN, json.dumps(plan.as_json(), indent=2) + "\n")


def read_plan(folder: Path) -> LabPlan | None:
    """The plan in a folder; ``None`` if no plan was saved, which means that nothing was made."""
    try:
        text = (folder / PLAN).read_text()
    except FileNotFoundError:
        return None
    except PermissionError:
        raise HostError(f"{folder} belongs to root: try again with sudo") from None
    try:
        return plan_from_json(json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise HostError(f"{folder / PLAN} is not a plan of this netlab version: {error}") from None


def slot_of(folder: Path) -> int | None:
    """The slot (see plan.py) in a plan, which any version of netlab may have saved, or ``None``."""
    try:
        slot = json.loads((folder / PLAN).read_text())["slot"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return slot if isinstance(slot, int) else None


def is_complete(folder: Path) -> bool:
    """Whether ``up`` was completed."""
    return (folder / COMPLETE).exists()


@dataclass(frozen=True, slots=True)
class Started:
    """A process that netlab started, told apart from a later process with the same number."""

    pid: int
    start_ticks: int
    """Time of the start since boot, field 22 of /proc/PID/stat; exec does not change it."""
    boot_id: str

    def lives(self) -> bool:
        """Whether this process is running, and not another one with its number."""
        return self.boot_id == _boot_id() and start_ticks(self.pid) == self.start_ticks


def write_started(file: Path, pid: int) -> None:
    """Save what identifies a running process that netlab started; HostError if it has ended."""
    ticks = start_ticks(pid)
    if ticks is None:
        raise HostError(f"process {pid} ended at once")
    _write_whole(file, json.dumps(asdict(Started(pid, ticks, _boot_id()))) + "\n")


def read_started(file: Path) -> Started | None:
    """The inverse of ``write_started``; None if there is no such file."""
    try:
        return Started(**json.loads(file.read_text()))
    except FileNotFoundError:
        return None


def start_ticks(pid: int) -> int | None:
    """When a process started; None if no process of this number runs (a zombie does not run)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold spaces and parentheses itself.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _write_whole(path: Path, text: str) -> None:
    half = path.with_name(path.name + ".new")
    half.write_text(text)
    half.rename(path)


# A Windows host's sshd is OpenSSH as on the Linux hosts. The login shell passes each command to
# launch.exe (launch.c), which handles it like the sshd of OpenSSH for Windows. The host's files are
# on drive C: its root directory has a folder ``C:``, so SFTP paths are ``/C:/Users/netlab/…``.
# Every such host starts from a template, a finished wine prefix: drive C, the registry, an account.
# It is made once per version of wine. A host mounts a file system in memory over it (overlayfs): it
# reads the template's files, and what it writes vanishes when the host ends.
# ``setarch -R``: else Linux puts the heap of wine64 at random up to 1 GiB above it, and where the
# heap covers 0x7ffe0000, a page that all Windows programs share, wine ends at once: exit status 1
# and no output, once in some thousand starts.
CACHE = Path("/var/cache/netlab")
TEMPLATE = "wine-template-"
HALF_MADE = "half-made-"
LAUNCH = Path(__file__).with_name("launch.c")
LAUNCH_ON_C = "windows/netlab/launch.exe"
TEMPLATE_S = 240.0
"""Time limit for making the template. It takes ten seconds on an idle machine, and may take much
longer with a virus scanner or on a busy machine."""

MAKE_TEMPLATE = r"""
# A private network, account file and /tmp, invisible outside.
ip link set lo up
mount --bind "$ACCOUNT_FILE" /etc/passwd
mount -t tmpfs -o mode=1777,nosuid,nodev netlab /tmp
"$WINE" wineboot --init
"$WINE" winecfg /v win10
"$WINE" reg add 'HKLM\Software\Microsoft\Windows NT\CurrentVersion\ProfileList' \
    /v ProfilesDirectory /t REG_EXPAND_SZ /d 'C:\Users' /f
"$WINE" cmd /c exit
"$WINESERVER" -k
"$WINESERVER" -w || true
cd "$WINEPREFIX"
# Debian's wineserver keeps its socket here.
rm -rf wineserver
# No access outside drive C, whose folders have the names that Windows uses.
rm -f dosdevices/z:
[ -d drive_c/Users ] || mv drive_c/users drive_c/Users
test -d "drive_c/Users/$NAME" -a -f system.reg
# Documents and the like: folders, not links into a Unix home.
for link in $(find drive_c/Users -type l); do rm "$link"; mkdir "$link"; done
# Folders that everybody may write to, as on Windows.
chmod 1777 drive_c/ProgramData drive_c/windows/temp
"""

Notify = Callable[[str], None]


def wine_environment(prefix: Path) -> dict[str, str]:
    """The complete environment of wine's programs: Windows programs get it as their environment."""
    return {
        "WINEPREFIX": str(prefix),
        "WINESERVER": program("wineserver64"),
        "WINEDEBUG": "-all",
        # Wine must not ask whether to install its .NET and HTML engines.
        "WINEDLLOVERRIDES": "mscoree,mshtml=",
        "LC_ALL": "C.UTF-8",
    }


def template_folder() -> Path:
    """The path of the template for this wine and this netlab, whether it exists or not."""
    sources = LAUNCH.read_bytes() + MAKE_TEMPLATE.encode()
    package = run("wine64", "--version")  # such as ``wine-8.0 (Debian 8.0~repack-4)``
    digest = hashlib.sha256(sources + package.encode()).hexdigest()[:12]
    return CACHE / f"{TEMPLATE}{package.split()[0]}-{digest}"


def wine_template(say: Notify) -> Path:
    """The template's folder; makes it if there is none. The caller must hold the lock on all labs.

    Raises HostError with one line, which has the last message of the program that failed.
    """
    folder = template_folder()
    if not folder.is_dir():
        say(f"making the Windows template {folder}: once, some 10 s and 700 MB")
        CACHE.mkdir(mode=0o755, parents=True, exist_ok=True)
        for remains in CACHE.glob(f"{HALF_MADE}*"):
            shutil.rmtree(remains)
        half = Path(tempfile.mkdtemp(prefix=HALF_MADE, dir=CACHE))
        try:
            _make(half)
            half.chmod(0o755)
            half.rename(folder)
        finally:
            shutil.rmtree(half, ignore_errors=True)
    # Templates of another wine or netlab go, unless a lab is up that may use one.
    older = [template for template in CACHE.glob(f"{TEMPLATE}*") if template != folder]
    if older and not any(_has_windows_hosts(folder_of(name)) for name in names()):
        for template in older:
            shutil.rmtree(template)
    return folder


def _make(prefix: Path) -> None:
    with tempfile.TemporaryDirectory() as aside:
        account_file = Path(aside) / "passwd"
        account_file.write_text(f"{ACCOUNT}:x:0:0::/nonexistent:/bin/sh\n")
        log = Path(aside) / "log"
        variables = {
            "ACCOUNT_FILE": str(account_file),
            "NAME": ACCOUNT,
            "WINE": program("wine64"),
            "HOME": "/nonexistent",
            "PATH": environment()["PATH"],
        }
        # fmt: off
        argv = [
            # If this process dies, the kernel kills the command, and all of wine with the command.
            program("setpriv"), "--pdeathsig", "KILL",
            program("unshare"), "--pid", "--mount", "--net", "--ipc", "--fork", "--kill-child",
            "--mount-proc", "setarch", "-R", "sh", "-ec", MAKE_TEMPLATE,
        ]
        # fmt: on
        with log.open("wb") as output:
            try:
                status = subprocess.run(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    env=wine_environment(prefix) | variables,
                    timeout=TEMPLATE_S,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                status = -1
        if status:
            lines = log.read_text(errors="replace").split("\n")
            words = [line.strip() for line in lines if line.strip()] or [f"status {status}"]
            raise HostError(f"wine did not make the Windows template: {words[-1]}")
    target = prefix / "drive_c" / LAUNCH_ON_C
    target.parent.mkdir(parents=True)
    compiler = program("x86_64-w64-mingw32-gcc")
    run(compiler, "-std=c11", "-O2", "-s", "-o", str(target), str(LAUNCH))


def _has_windows_hosts(folder: Path) -> bool:
    try:
        plan = read_plan(folder)
    except HostError:
        return True  # a plan of another version of netlab: its lab may have Windows hosts
    return is_complete(folder) and plan is not None and plan.options.windows > 0


PREFIX = Path("/run/netlab-host/wine")
"""Path of the wine prefix; it exists only inside the host."""
SHELL = "/run/netlab-host/shell"
MACHINE_KEY = r"HKLM\SOFTWARE\Microsoft\Cryptography"

SHELL_TEXT = """\
#!/bin/sh
# Login shell: shell [-c COMMAND]. Nothing of the Unix side's environment gets to the command.
[ "$1" = -c ] && command="NETLAB_LAB_COMMAND=$2"
exec env -i {environment} SSH_CONNECTION="$SSH_CONNECTION" ${{command:+"$command"}} \\
    setarch -R {loader} 'C:\\{launch}'
"""


def wish_of(template: Path) -> Mapping[str, Any]:
    """The description of a Windows host for inside.py. ``template``: a finished wine prefix."""
    environment = wine_environment(PREFIX)
    words = " ".join(f"'{name}={value}'" for name, value in environment.items())
    number = str(uuid.uuid4())
    number_the_machine = ["reg", "add", MACHINE_KEY, "/v", "MachineGuid", "/d", number, "/f"]
    launch, loader = LAUNCH_ON_C.replace("/", "\\"), program("wine64")
    first = ["setarch", "-R", loader, *number_the_machine]
    return {
        "template": str(template),
        "prefix": str(PREFIX),
        "users_home": f"Users/{ACCOUNT}",
        "shell": SHELL,
        "shell_text": SHELL_TEXT.format(environment=words, loader=loader, launch=launch),
        "environment": environment,
        # wineserver starts first and keeps running: it makes the sockets of all programs. The first
        # program starts Windows' services, which takes a second. It sets a unique MachineGuid, by
        # which programs distinguish machines: all hosts share the template's MachineGuid.
        "programs": [[program("wineserver64"), "--persistent"], first],
    }
