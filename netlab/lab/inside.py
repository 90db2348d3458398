"""Sets up one host of the lab and executes its sshd, as a script that does not import netlab.

It runs inside the host's network, mount, process and host-name namespaces, and waits on standard
input for the description of the host (one JSON line). If the process that starts it dies, the input
ends without a line, and this script ends too. All files that it makes are on file systems in
memory, which vanish with the host's mount namespace.
"""

import json
import os
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

OWN = Path("/run/netlab-host")
CAP_NET_RAW = 1 << 13
NEW_ROOT = Path("/home")
"""New root of a Windows host. /home is an empty file system of the host by then, so nothing is
created in the machine's /home."""
# fmt: off
UNIX_FOLDERS = (
    "bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "nix", "opt", "proc", "run", "sbin",
    "sys", "tmp", "usr", "var",
)
# fmt: on


def main() -> None:
    """Wait for the host's description, set the host up, and execute sshd."""
    line = sys.stdin.readline()
    if not line.endswith("\n"):
        raise SystemExit("netlab: the process that made this lab has ended")
    wish = json.loads(line)
    socket.sethostname(wish["name"])
    # sshd needs its folder in /run, and writes login records to /run and /var/log. /home has only
    # the home of this account.
    for path in ("/run", "/var/log", "/home"):
        memory(path, "mode=0755,nosuid,nodev")
    Path("/run/sshd").mkdir(mode=0o755)
    OWN.mkdir(mode=0o755)
    settle_in_etc(wish["etc"])
    if wish["control_group"] is not None:
        show_own_group(**wish["control_group"])
    write(OWN / "host_key", wish["host_key"], 0o600)
    write(OWN / "authorized_keys", wish["authorized_key"], 0o644)
    config = write(OWN / "sshd_config", wish["sshd_config"], 0o600)
    if wish["frames"] is not None:
        let_send_frames(**wish["frames"])
    if wish["windows"] is None:
        home = Path(wish["home"])
        home.mkdir(mode=0o700)
        os.chown(home, wish["uid"], wish["uid"])
    else:
        settle_on_drive_c(wish["windows"], Path(wish["home"]), wish["uid"])
    if wish["sudo"] is not None:
        let_change_settings(**wish["sudo"])
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    os.chdir("/")
    os.execv(  # noqa: S606  # a shell is not wanted
        wish["sshd"], [wish["sshd"], "-D", "-e", "-f", str(config)]
    )


def settle_in_etc(files: dict[str, str]) -> None:
    """Give the host its own /etc: its account files, and links to the machine's other files.

    A file mounted over /etc/passwd alone would vanish as soon as a program of the machine replaces
    /etc/passwd, as useradd does.
    """
    outside = OWN / "etc"
    outside.mkdir()
    mount("--rbind", "/etc", str(outside))
    memory("/etc", "mode=0755,nosuid,nodev")
    for entry in outside.iterdir():
        if entry.name not in files:
            # A link is copied with its target. For any other file, a link to it is made.
            target = entry.readlink() if entry.is_symlink() else entry
            Path("/etc", entry.name).symlink_to(target)
    for name, text in files.items():
        write(Path("/etc", name), text, 0o600 if name == "shadow" else 0o644)


def show_own_group(type: str, options: str, at: str) -> None:  # noqa: A002  (mount's word)
    """Mount this host's control group at its usual place: the host's /sys has no control groups."""
    groups, own = Path("/sys/fs/cgroup"), Path(at)
    if own != groups:
        memory(str(groups), "mode=0755,nosuid,nodev")
        own.mkdir()
    mount("-t", type, *(["-o", options] if options else []), "netlab", at)


def let_send_frames(setpriv: str, shell: str, shell_text: str) -> None:
    """Make a login shell that gives every program the capability CAP_NET_RAW and no other.

    The capability belongs to a copy of setpriv that is invisible outside this host. Its file system
    is mounted without ``nosuid``, so that capabilities of files apply there.
    """
    folder = Path(shell).parent
    folder.mkdir()
    memory(str(folder), "mode=0755,nodev")
    copy = Path(shutil.copy(setpriv, folder / "setpriv"))
    copy.chmod(0o755)
    # The fields of capabilities(7): version 2 with the effective bit, the lower halves of the
    # permitted and the inheritable capabilities, and their upper halves.
    os.setxattr(copy, "security.capability", struct.pack("<5I", 0x0200_0001, CAP_NET_RAW, 0, 0, 0))
    write(Path(shell), shell_text, 0o755)


def let_change_settings(
    folder: str, home: str, account: int, path: str, files: dict[str, str], helper: list[str]
) -> None:
    """Make the command ``sudo``, and start the helper that it asks (netlab/lab/sudo).

    The helper gets the socket as its standard input. sshd does not get the socket, so a call of
    ``sudo`` fails at once if the helper has ended.
    """
    place = Path(folder)
    for part in (place, place / "bin"):
        part.mkdir(mode=0o755)
    for name, text in files.items():
        write(place / name, text, 0o755 if name.startswith("bin/") else 0o644)
    # sshd sets this PATH, but then /etc/profile sets another one in the shell of a terminal.
    write(Path(home, ".profile"), f"PATH={path}\n", 0o644)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        address = place / "socket"
        listener.bind(str(address))
        address.chmod(0o600)
        os.chown(address, account, account)
        listener.listen(64)
        subprocess.Popen(
            helper,
            stdin=listener.fileno(),
            stdout=subprocess.DEVNULL,
            cwd="/",
            env={"LC_ALL": "C"},
            start_new_session=True,
        )


def settle_on_drive_c(windows: dict[str, Any], home: Path, uid: int) -> None:
    """Make the account's drive C, change to a root that has it as folder ``C:``, start wine."""
    prefix = Path(windows["prefix"])
    lay_over(Path(windows["template"]), prefix)
    drive = prefix / "drive_c"
    users_home = drive / windows["users_home"]
    # The rest of drive C does not belong to the account, as for an ordinary user on Windows.
    for path in (prefix, users_home, *users_home.rglob("*")):
        os.chown(path, uid, uid, follow_symlinks=False)
    write(Path(windows["shell"]), windows["shell_text"], 0o755)
    # Wine and its programs get their own /tmp, because all users share the machine's /tmp.
    memory("/tmp", "mode=1777,nosuid,nodev")  # noqa: S108  (a mount, no file)
    make_root(drive)
    # A colon separates fields in /etc/passwd, so the home there is a link to the one on drive C.
    link = NEW_ROOT / home.relative_to("/")
    link.parent.mkdir()
    link.symlink_to(f"/C:/{windows['users_home']}")
    os.chroot(NEW_ROOT)
    for argv in windows["programs"]:
        # Services that wine starts inherit these streams and keep running.
        subprocess.run(
            argv,
            user=uid,
            group=uid,
            extra_groups=[],
            cwd=home,
            env=windows["environment"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )


def lay_over(template: Path, target: Path) -> None:
    """Mount the template's files at ``target``; files that are written there stay in memory."""
    above, work = OWN / "written", OWN / "written-work"
    for folder in (above, work, target):
        folder.mkdir(mode=0o755)
    layers = f"lowerdir={template},upperdir={above},workdir={work}"
    mount("-t", "overlay", "-o", layers, "netlab", str(target))


def make_root(drive: Path) -> None:
    """Fill the new root: the folders that Unix programs need, and drive C."""
    for name in UNIX_FOLDERS:
        outside, inside = Path("/", name), NEW_ROOT / name
        if outside.is_symlink():
            inside.symlink_to(outside.readlink())
        elif outside.is_dir():
            inside.mkdir()
            mount("--rbind", str(outside), str(inside))
    (NEW_ROOT / "C:").mkdir()
    mount("--bind", str(drive), str(NEW_ROOT / "C:"))


def memory(path: str, options: str) -> None:
    """Mount an empty file system in memory."""
    mount("-t", "tmpfs", "-o", options, "netlab", path)


def mount(*words: str) -> None:
    """Mount a file system; if that fails, exit with mount's error on standard error."""
    subprocess.run(["mount", *words], check=True)


def write(path: Path, text: str, mode: int) -> Path:
    """Write a file; its mode is set before its content is written."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    return path


if __name__ == "__main__":
    main()
