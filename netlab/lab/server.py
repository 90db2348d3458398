"""A host's sshd: the installed OpenSSH in the host's namespaces, for one account.

The account is not root and exists only on this host: /etc/passwd and similar files are private to
the host's mount namespace. The process namespace guarantees a complete end: when its first process
dies, the kernel kills all others in it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from netlab.errors import HostError
from netlab.lab import programs
from netlab.lab.network import NAMESPACES, processes
from netlab.lab.plan import LabHost
from netlab.lab.programs import SEARCH_PATH, environment, program, run, succeeds
from netlab.lab.state import SHELL as WINDOWS_SHELL
from netlab.lab.state import Started, read_started, write_started
from netlab.lab.sudo import ACCOUNT_PATH

INSIDE = Path(__file__).with_name("inside.py")
READY_S = 30.0
"""Time limit for a host to be ready. A Linux host takes 0.1 s; the first Windows program on a busy
machine takes seconds."""
CONNECT_S = 5
LOGIN_S = 20.0
"""Time limit of a login by `lab status`: a program under wine starts slowly."""
GONE_S = 5.0
POLL_S = 0.005

SSHD_CONFIG = """\
Port 22
ListenAddress {address}
HostKey /run/netlab-host/host_key
AuthorizedKeysFile /run/netlab-host/authorized_keys
PidFile none
AllowUsers {user}
PermitRootLogin no
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
PrintMotd no
PrintLastLog no
MaxSessions 64
MaxStartups 200:30:400
Subsystem sftp internal-sftp
"""
FRAMES_SHELL = "/run/netlab-host/frames/shell"
FRAMES_SHELL_TEXT = """\
#!/bin/sh
exec /run/netlab-host/frames/setpriv --inh-caps +net_raw --ambient-caps +net_raw {shell} "$@"
"""
"""The login shell of an account that may send frames: see inside.py."""
ACCOUNT_PATH_SET = f"SetEnv PATH={ACCOUNT_PATH}\n"
PENALTIES_OFF = "PerSourcePenalties=no"
"""For OpenSSH 9.8 and newer, which otherwise locks out the machine that runs netlab if netlab is
killed often."""


def key_name(host: LabHost) -> str:
    """Name of the file of a host's private key."""
    return f"{host.name}.key"


def make_key(file: Path, comment: str) -> str:
    """Make an ed25519 key pair unless there is one; return the line of the public half."""
    if not file.exists():
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", str(file))
    return file.with_name(file.name + ".pub").read_text().strip()


def start(
    host: LabHost,
    folder: Path,
    authorized_key: str,
    windows: Mapping[str, Any] | None = None,
    inherited: Collection[int] = (),
    *,
    frames: bool = False,
    sudo: Mapping[str, Any] | None = None,
) -> None:
    """Start the host's sshd; ``await_ready`` waits for it.

    ``windows``: see state.wish_of. ``frames``: whether a Linux host's account may send raw
    frames. ``sudo``: see sudo.wish_of. ``inherited``: open files that stay open as long as the host
    exists.
    """
    key = folder / key_name(host)
    make_key(key, f"{host.name} of the virtual lab")
    group = None if host.cpu_share is None else programs.make_quota(host, host.cpu_share)
    config = SSHD_CONFIG.format(address=host.management_address, user=host.user)
    if succeeds("sshd", "-t", "-f", "/dev/null", "-o", f"HostKey={key}", "-o", PENALTIES_OFF):
        config += PENALTIES_OFF + "\n"
    if sudo is not None:
        config += ACCOUNT_PATH_SET
    shell = {"shell": FRAMES_SHELL, "shell_text": FRAMES_SHELL_TEXT.format(shell=_shell())}
    wish = {
        "name": host.name,
        "home": f"/home/{host.user}",
        "uid": host.uid,
        "etc": accounts(host, frames=frames),
        "host_key": key.read_text(),
        "authorized_key": authorized_key + "\n",
        "sshd": program("sshd"),
        "sshd_config": config,
        "control_group": None if group is None else group.mount,
        "windows": windows,
        "frames": {"setpriv": program("setpriv"), **shell} if frames else None,
        "sudo": sudo,
    }
    argv = _become_inside(host, group)
    with (folder / f"{host.name}.log").open("ab") as log:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=tuple(inherited),
            cwd="/",
            env=environment(),
        )
    # The process gets the line that it waits for only after its number is saved. So `down` knows
    # every process of the lab, whenever netlab's own process is killed.
    write_started(_pid_file(host, folder), process.pid)
    try:
        with cast(IO[bytes], process.stdin) as pipe:
            pipe.write(json.dumps(wish).encode() + b"\n")
    except BrokenPipeError:
        raise HostError(f"{host.name} did not start: {last_words(host, folder)}") from None
    process.returncode = 0  # avoids a ResourceWarning: sshd outlives this process on purpose


def _become_inside(host: LabHost, group: programs.ControlGroup | None) -> list[str]:
    """The command that executes inside.py in the host's namespaces and control group."""
    unshared = ["--pid", "--uts", "--mount", "--fork", "--kill-child", "--mount-proc"]
    unshared += [] if group is None else ["--cgroup"]
    inside = [program("unshare"), *unshared, sys.executable, "-I", "-S", str(INSIDE)]
    argv = [program("ip"), "netns", "exec", host.namespace, *inside]
    return argv if group is None else group.entered(argv)


def _shell() -> str:
    return "/bin/bash" if Path("/bin/bash").exists() else "/bin/sh"


def accounts(host: LabHost, *, frames: bool = False) -> dict[str, str]:
    """The host's complete account files by name: root, the host's user, and sshd's accounts."""
    import pwd  # missing on some systems that can import this module

    try:
        sshd = pwd.getpwnam("sshd").pw_uid
    except KeyError:
        sshd = host.uid + 1000
    shell = FRAMES_SHELL if frames else _shell()
    if host.os == "W":
        shell = WINDOWS_SHELL
    return {
        "passwd": "root:x:0:0:root:/root:/usr/sbin/nologin\n"
        f"sshd:x:{sshd}:65534::/run/sshd:/usr/sbin/nologin\n"
        "nobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"
        f"{host.user}:x:{host.uid}:{host.uid}:the virtual lab:/home/{host.user}:{shell}\n",
        "group": f"root:x:0:\nnogroup:x:65534:\ntty:x:5:\n{host.user}:x:{host.uid}:\n",
        # "*": no password matches, but the account is not locked (sshd refuses locked ones).
        "shadow": f"root:*:19000::::::\n{host.user}:*:19000::::::\n",
    }


def await_ready(host: LabHost, folder: Path) -> None:
    """Wait until the host's sshd answers; raise HostError with its last message if it does not."""
    end, process = time.monotonic() + READY_S, read_started(_pid_file(host, folder))
    while time.monotonic() < end:
        # Just started, it may not be in the host's namespace yet: that it runs is enough.
        if process is None or not process.lives() or _network(process) is None:
            break
        try:
            with socket.create_connection((host.management_address, 22), timeout=1.0) as link:
                if link.recv(4) == b"SSH-":
                    return
        except OSError:
            pass
        time.sleep(POLL_S)
    raise HostError(f"the sshd of {host.name} does not answer: {last_words(host, folder)}")


def lives(host: LabHost, folder: Path) -> bool:
    """Whether the host's processes are running, in the host's namespace."""
    process = read_started(_pid_file(host, folder))
    if process is None or not process.lives():
        return False
    try:
        return _network(process) == (NAMESPACES / host.namespace).stat().st_ino
    except OSError:
        return False


def why_silent(host: LabHost, ssh_config: Path) -> str | None:
    """Why a login to the host fails, as ssh reports it; ``None`` if the login succeeds."""
    if shutil.which("ssh", path=SEARCH_PATH) is None:
        return None  # without ssh this cannot be tried
    options = ["-F", str(ssh_config), "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}"]
    try:
        process = programs.finished(["ssh", *options, host.name, "exit"], LOGIN_S)
    except HostError:
        return f"no answer in {LOGIN_S:g} s"
    if process.returncode == 0:
        return None
    lines = process.stderr.strip().splitlines()
    return lines[-1] if lines else f"ssh ended with {process.returncode}"


def stop(host: LabHost, folder: Path) -> None:
    """End the host's sshd and every process under it, and wait until they have ended.

    Foreign processes in the network namespace stay: they are in another process namespace. If the
    number of an ended process now belongs to another process, that process is left alone.
    """
    process = read_started(_pid_file(host, folder))
    if process is not None and process.lives():
        children = None  # the process namespace of the host's processes, if they have their own
        with suppress(OSError):
            theirs = Path(f"/proc/{process.pid}/ns/pid_for_children").readlink()
            children = None if theirs == Path("/proc/self/ns/pid").readlink() else theirs
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
        end = time.monotonic() + GONE_S
        while process.lives() or _members(host, children):
            if time.monotonic() > end:
                raise HostError(f"processes of {host.name} do not end: {_members(host, children)}")
            time.sleep(POLL_S)
        with suppress(ChildProcessError):  # sshd is our child only if `up` ran in this process
            os.waitpid(process.pid, 0)
    if host.cpu_share is not None:
        programs.remove_quota(host)


def _members(host: LabHost, pid_namespace: Path | None) -> list[int]:
    """Processes that are in the host's network namespace and in this process namespace."""
    if pid_namespace is None:
        return []
    members = []
    for pid in processes(host.namespace):
        try:
            if Path(f"/proc/{pid}/ns/pid").readlink() == pid_namespace:
                members.append(pid)
        except OSError:
            continue
    return members


def _network(process: Started) -> int | None:
    """The network namespace of a process; ``None`` if it has ended."""
    try:
        return Path(f"/proc/{process.pid}/ns/net").stat().st_ino
    except OSError:
        return None


def _pid_file(host: LabHost, folder: Path) -> Path:
    return folder / f"{host.name}.process"


def last_words(host: LabHost, folder: Path) -> str:
    """The last line that a host's sshd wrote."""
    try:
        lines = (folder / f"{host.name}.log").read_text(errors="replace").splitlines()
    except FileNotFoundError:
        lines = []
    return lines[-1] if lines else "it wrote no message"
