"""Becomes the sshd of one Linux host of the lab. A script of its own: nothing of netlab in it.

It runs inside the host's network, mount, process and host-name namespaces, waits on standard input
for what the host is to be (one JSON line), gives the host an /etc/passwd, a home and a /run that
nobody outside sees, and then turns into sshd. Whoever started it writes its process number down
first: the end of input without a line means that they died, and it ends too.

Everything it makes lies on file systems in memory that vanish with the host's mount namespace.
"""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

OWN = Path("/run/netlab-host")


def main() -> None:
    """Wait for the host's description, settle in, and become sshd."""
    line = sys.stdin.readline()
    if not line.endswith("\n"):
        raise SystemExit("netlab: whoever made this lab is gone")
    wish = json.loads(line)
    socket.sethostname(wish["name"])
    # /run: sshd's own folder, login records. /var/log: login records. /home: nobody else's.
    for path in ("/run", "/var/log", "/home"):
        mount("-t", "tmpfs", "-o", "mode=0755,nosuid,nodev", "netlab", path)
    Path("/run/sshd").mkdir(mode=0o755)
    OWN.mkdir(mode=0o755)
    for name, text in wish["etc"].items():
        file = write(OWN / name, text, 0o600 if name == "shadow" else 0o644)
        mount("--bind", str(file), f"/etc/{name}")
    home = Path(wish["home"])
    home.mkdir(mode=0o700)
    os.chown(home, wish["uid"], wish["uid"])
    write(OWN / "host_key", wish["host_key"], 0o600)
    write(OWN / "authorized_keys", wish["authorized_key"], 0o644)
    config = write(OWN / "sshd_config", wish["sshd_config"], 0o600)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1):
        os.dup2(nothing, descriptor)
    os.chdir("/")
    os.execv(  # noqa: S606  # no shell is the point
        wish["sshd"], [wish["sshd"], "-D", "-e", "-f", str(config)]
    )


def mount(*words: str) -> None:
    """Mount, or end with the mount program's own words on standard error."""
    subprocess.run(["mount", *words], check=True)


def write(path: Path, text: str, mode: int) -> Path:
    """A file with that mode from its first byte on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    return path


if __name__ == "__main__":
    main()
