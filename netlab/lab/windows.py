"""Describes a host of the lab that runs Windows programs, for inside.py, which sets up each host.

The host's sshd is OpenSSH as on the Linux hosts. The login shell passes each command to launch.exe
(launch.c), which handles the command like the sshd of OpenSSH for Windows. The host's files are on
drive C: the host's root directory has a folder ``C:``, so that SFTP paths are
``/C:/Users/netlab/…``.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netlab.lab.plan import ACCOUNT
from netlab.lab.wine import LAUNCH_ON_C, loader, wine_environment, wineserver

PREFIX = Path("/run/netlab-host/wine")
"""Path of the wine prefix; it exists only inside the host."""
SHELL = "/run/netlab-host/shell"
MACHINE_KEY = r"HKLM\SOFTWARE\Microsoft\Cryptography"

SHELL_TEXT = """\
#!/bin/sh
# Login shell: shell [-c COMMAND]. Nothing of the Unix side's environment gets to the command.
[ "$1" = -c ] && command="NETLAB_LAB_COMMAND=$2"
exec env -i {environment} SSH_CONNECTION="$SSH_CONNECTION" ${{command:+"$command"}} \\
    {loader} 'C:\\{launch}'
"""


def wish_of(template: Path) -> Mapping[str, Any]:
    """The description of a Windows host for inside.py. ``template``: a finished wine prefix."""
    environment = wine_environment(PREFIX)
    words = " ".join(f"'{name}={value}'" for name, value in environment.items())
    number = str(uuid.uuid4())
    number_the_machine = ["reg", "add", MACHINE_KEY, "/v", "MachineGuid", "/d", number, "/f"]
    launch = LAUNCH_ON_C.replace("/", "\\")
    return {
        "template": str(template),
        "prefix": str(PREFIX),
        "users_home": f"Users/{ACCOUNT}",
        "shell": SHELL,
        "shell_text": SHELL_TEXT.format(environment=words, loader=loader(), launch=launch),
        "environment": environment,
        # wineserver starts first and keeps running: it makes the sockets of all programs. The first
        # program starts Windows' services, which takes a second. It sets a unique MachineGuid, by
        # which programs distinguish machines: all hosts share the template's MachineGuid.
        "programs": [[wineserver(), "--persistent"], [loader(), *number_the_machine]],
    }
