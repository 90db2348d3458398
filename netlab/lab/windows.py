"""What makes a host of the lab one whose programs are Windows programs: told to its inside.

The host's sshd is OpenSSH as on the Linux hosts. Its login shell gives each command to launch.exe
(launch.c), which does with it what the sshd of OpenSSH for Windows does. Its files are those of
drive C: the host's root has a folder ``C:``, so that SFTP's paths are ``/C:/Users/netlab/…``.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netlab.lab.plan import ACCOUNT
from netlab.lab.wine import LAUNCH_ON_C, loader, wine_environment, wineserver

PREFIX = Path("/run/netlab-host/wine")
"""Inside the host only."""
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
    """What inside.py makes a Windows host of. ``template``: a finished wine prefix."""
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
        # The server first, for itself and for ever: the sockets of all programs are made by it.
        # The first program starts Windows' services and takes a second. It makes the host a machine
        # of its own: by this number, the template's in all of them, programs tell machines apart.
        "programs": [[wineserver(), "--persistent"], [loader(), *number_the_machine]],
    }
