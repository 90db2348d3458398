"""The command ``sudo`` on a host of the lab: a standalone script that does not import netlab.

The script sends its command line to the host's helper (helper.py) and prints what the helper
answers. The script has no rights of its own.
"""

import socket
import struct
import sys
from os import fsencode

SOCKET = "/run/netlab-host/sudo/socket"
REPLY = struct.Struct("<BI")
"""The fields before the output of the program: its exit code, the length of its standard output."""
MOST_REQUEST_BYTES = 16 << 10
MOST_REPLY_BYTES = 128 << 10
LIMIT_S = 30.0
"""Longer than the helper's limit for a program, because the helper runs one command after another.
"""


def main() -> int:
    """Return the exit code of the command, or 1 with one sentence on standard error."""
    request = b"\0".join(map(fsencode, ("sudo", *sys.argv[1:])))
    if len(request) > MOST_REQUEST_BYTES:
        return refuse("the command line is too long")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as helper:
            helper.settimeout(LIMIT_S)
            helper.connect(SOCKET)
            helper.send(request)
            reply = helper.recv(MOST_REPLY_BYTES)
        code, length = REPLY.unpack_from(reply)
    except (OSError, struct.error):
        return refuse(
            "the helper of this host does not answer; make the lab again with "
            "`netlab lab down` and `netlab lab up --sudo`"
        )
    output = reply[REPLY.size :]
    sys.stdout.buffer.write(output[:length])
    sys.stdout.flush()
    sys.stderr.buffer.write(output[length:])
    return int(code)


def refuse(sentence: str) -> int:
    """Print a sentence on standard error; return the exit code of a refused command."""
    sys.stderr.write(f"sudo: {sentence}\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
