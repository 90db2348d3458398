"""Describes for inside.py how a host's account may change settings of the host with ``sudo``.

The host's ``sudo`` is client.py. It hands its command line to helper.py, which runs beside the
host's sshd, checks the command and runs the program. The helper is not root either: it has a user
id of its own and CAP_NET_ADMIN for the host's network namespace. So even a mistake in its check
does not let the account write to a file, another namespace, or a setting outside ``net``.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netlab.errors import HostError
from netlab.lab.network import processes
from netlab.lab.plan import SECOND, LabHost
from netlab.lab.programs import SEARCH_PATH, program, succeeds
from netlab.lab.sudo.helper import PROGRAMS

FOLDER = "/run/netlab-host/sudo"
"""Path of the files; it exists only inside the host."""
ACCOUNT_PATH = (
    f"{FOLDER}/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/games"
)
"""PATH of the account: the host's ``sudo`` comes before the machine's."""
HELPER_UIDS = -1000
"""The user id of a helper is the id of its host's account plus this number, and so is below the
ids of all accounts."""

CLIENT_TEXT = """\
#!/bin/sh
exec {python} -I -S {folder}/client.py "$@"
"""


def wish_of(host: LabHost) -> Mapping[str, Any]:
    """The description of a host's ``sudo`` for inside.py.

    Raises HostError if there is no Python that the account can execute.
    """
    uid = host.uid + HELPER_UIDS
    python = _python(host.uid)
    rights = {
        "uid": host.uid,
        # Not `management`: its other end belongs to this machine.
        "interfaces": ["test", *([SECOND] if host.second else [])],
        "programs": {name: program(name) for name in PROGRAMS},
    }
    helper = [python, "-I", "-S", f"{FOLDER}/helper.py", json.dumps(rights)]
    return {
        "folder": FOLDER,
        "home": f"/home/{host.user}",
        "account": host.uid,
        "path": ACCOUNT_PATH,
        "files": {
            "helper.py": Path(__file__).with_name("helper.py").read_text(encoding="utf-8"),
            "client.py": Path(__file__).with_name("client.py").read_text(encoding="utf-8"),
            "bin/sudo": CLIENT_TEXT.format(python=shlex.quote(python), folder=FOLDER),
        },
        # This user, and no capability but CAP_NET_ADMIN.
        "helper": [
            *(program("setpriv"), f"--reuid={uid}", f"--regid={uid}", "--clear-groups"),
            *(f"--{kind}=-all,+net_admin" for kind in ("inh-caps", "ambient-caps", "bounding-set")),
            *("--no-new-privs", *helper),
        ],
    }


def helper_lives(host: LabHost) -> bool:
    """Whether the host's helper runs."""
    path = f"{FOLDER}/helper.py".encode()
    for pid in processes(host.namespace):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if path in words:
            return True
    return False


def _python(uid: int) -> str:
    """A Python that an ordinary user can execute; netlab's own may be in root's home."""
    own = str(Path(sys.executable).resolve())
    user = (f"--reuid={uid}", f"--regid={uid}", "--clear-groups")
    imports = ("-I", "-S", "-c", "import json, socket, subprocess")
    for path in (own, shutil.which("python3", path=SEARCH_PATH), "/usr/bin/python3"):
        # setpriv itself still has root's rights when it executes a program; env has none of them.
        if path is not None and succeeds("setpriv", *user, "env", path, *imports):
            return path
    raise HostError(
        "`netlab lab up --sudo` needs a Python that every user can execute. Not every user can "
        f"execute {own}: install another one with `sudo apt-get install python3`"
    )
