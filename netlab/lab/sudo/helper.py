"""Changes settings of one host for its account: a standalone script that does not import netlab.

It runs in the host's network namespace, as a user of its own, with the capability CAP_NET_ADMIN and
no other (see __init__.py). It accepts connections on a socket that inside.py made, one at a time.
Each connection carries one command line (words that are separated by zero bytes) and one reply. No
shell reads the words, and the helper runs only programs that netlab found when it made the lab.
"""

import json
import re
import socket
import struct
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

PROGRAMS = ("ethtool", "sysctl", "ip")
FOLDERS = ("", "/usr/sbin/", "/sbin/", "/usr/bin/", "/bin/")
"""Folders that the command line may state before a program's name. The helper ignores them and runs
the path that netlab found."""
MOST_WORDS = 64
MOST_WORD_CHARACTERS = 300
LEAST_MTU_BYTES, MOST_MTU_BYTES = 1280, 65535
"""With an MTU below 1280 the interface would lose its IPv6 addresses, and a larger MTU would not
bring them back."""

ETHTOOL_CHANGES = ("-K", "-C", "-G", "-A", "-L")
ETHTOOL_READS = ("-k", "-c", "-g", "-a", "-l", "-i", "-S", "-T")
ETHTOOL_NAME = re.compile(r"[a-z][a-z0-9_-]{0,59}")
ETHTOOL_VALUE = re.compile(r"on|off|auto|[0-9]{1,10}")

SYSCTL_GROUPS = ("core", "ipv4", "ipv6", "mptcp", "unix")
"""The groups of ``net`` whose writable keys all belong to the namespace. Group ``netfilter`` has a
key, nf_hooks_lwtunnel, that changes the whole machine and cannot be changed back."""
SYSCTL_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
SYSCTL_VALUE = re.compile(r"[A-Za-z0-9 \t._,:+-]{1,200}")
CONGESTION = ("net", "ipv4", "tcp_congestion_control")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")

MOST_REQUEST_BYTES = 16 << 10
MOST_OUTPUT_BYTES = 32 << 10
"""Maximum length of standard output and of standard error; both fit into one socket message."""
REPLY = struct.Struct("<BI")
REQUEST_LIMIT_S = 2.0
PROGRAM_LIMIT_S = 10.0


class RefusalError(ValueError):
    """A command line that is not allowed; the error's text is the reason, without a full stop."""


def accepted(
    line: Sequence[str], interfaces: Collection[str], algorithms: Collection[str]
) -> tuple[str, ...]:
    """The words of the command that ``sudo`` shall run, the first one a name in PROGRAMS.

    ``line``: the words after ``sudo``. ``interfaces``: the host's interfaces that may be changed.
    ``algorithms``: the congestion controls that the kernel has loaded; another name would load a
    module into the machine's kernel. Raises RefusalError for everything but the listed commands.
    """
    if len(line) > MOST_WORDS:
        raise RefusalError(f"the command has more than {MOST_WORDS} words")
    for word in line:
        if len(word) > MOST_WORD_CHARACTERS or not word.isascii():
            raise RefusalError(f"the word {quoted(word)} is too long or is not ASCII")
    words = list(line[1:] if line[:1] == ["-n"] else line)
    if not words:
        raise RefusalError(f"give a command: {', '.join(PROGRAMS)}")
    names = {folder + name: name for name in PROGRAMS for folder in FOLDERS}
    if words[0] not in names:
        raise RefusalError(f"the program {quoted(words[0])} is not one of {', '.join(PROGRAMS)}")
    name, rest = names[words[0]], words[1:]
    if name == "ethtool":
        check_ethtool(rest, interfaces)
    elif name == "sysctl":
        check_sysctl(rest, algorithms)
    else:
        check_ip(rest, interfaces)
    return (name, *rest)


def check_ethtool(words: Sequence[str], interfaces: Collection[str]) -> None:
    """Allow ``-K INTERFACE NAME VALUE …``, ``-k INTERFACE`` and similar options, nothing else."""
    option, interface = (*words[:2], "", "")[:2]
    pairs = words[2:]
    options = (*ETHTOOL_CHANGES, *ETHTOOL_READS)
    if option not in options:
        raise RefusalError(
            f"the option {quoted(option)} of ethtool is not one of {', '.join(options)}"
        )
    check_interface(interface, interfaces)
    if option in ETHTOOL_READS:
        if pairs:
            raise RefusalError(f"ethtool {option} takes one interface and no further word")
        return
    if not pairs or len(pairs) % 2:
        raise RefusalError(f"ethtool {option} takes an interface and pairs of name and value")
    for name, value in zip(pairs[::2], pairs[1::2], strict=True):
        if not (ETHTOOL_NAME.fullmatch(name) and ETHTOOL_VALUE.fullmatch(value)):
            raise RefusalError(
                f"ethtool {option} {quoted(name)} {quoted(value)} is not a name with on, off, auto "
                "or a number"
            )


def check_sysctl(words: Sequence[str], algorithms: Collection[str]) -> None:
    """Allow ``KEY=VALUE …`` and ``-w KEY=VALUE …``, nothing else."""
    pairs = words[1:] if words[:1] == ["-w"] else words
    if not pairs:
        raise RefusalError("sysctl takes KEY=VALUE, with or without -w before it")
    for pair in pairs:
        key, equals, value = pair.partition("=")
        # Keys are written with dots or slashes; a key with both means something else to sysctl.
        parts = tuple(key.split("." if "." in key else "/"))
        if not equals or not all(map(SYSCTL_PART.fullmatch, parts)):
            raise RefusalError(f"sysctl {quoted(pair)} is not KEY=VALUE; the only option is -w")
        if len(parts) < 3 or parts[0] != "net" or parts[1] not in SYSCTL_GROUPS:
            groups = ", ".join(f"net.{group}" for group in SYSCTL_GROUPS)
            raise RefusalError(f"the key {quoted(key)} is not in one of {groups}")
        if not SYSCTL_VALUE.fullmatch(value):
            raise RefusalError(f"the value {quoted(value)} of {key} has forbidden characters")
        if parts == CONGESTION and value not in algorithms:
            loaded = ", ".join(algorithms)
            raise RefusalError(f"the congestion control {quoted(value)} is not one of {loaded}")


def check_ip(words: Sequence[str], interfaces: Collection[str]) -> None:
    """Allow ``link set dev INTERFACE mtu BYTES``, with or without ``dev``, and nothing else."""
    start = ["link", "set", "dev"] if words[2:3] == ["dev"] else ["link", "set"]
    rest = list(words[len(start) :])
    if list(words[: len(start)]) != start or len(rest) != 3 or rest[1] != "mtu":
        raise RefusalError("the only ip command is `ip link set dev INTERFACE mtu BYTES`")
    check_interface(rest[0], interfaces)
    number = re.fullmatch(r"[0-9]{1,6}", rest[2])
    if not number or not LEAST_MTU_BYTES <= int(rest[2]) <= MOST_MTU_BYTES:
        raise RefusalError(
            f"the MTU {quoted(rest[2])} is not {LEAST_MTU_BYTES} to {MOST_MTU_BYTES} bytes"
        )


def check_interface(name: str, interfaces: Collection[str]) -> None:
    """Raise RefusalError if the interface is not one of ``interfaces``."""
    if name not in interfaces:
        raise RefusalError(f"the interface {quoted(name)} is not one of {', '.join(interfaces)}")


def quoted(word: str) -> str:
    """A word for an error message: of limited length, without control characters."""
    return ascii(word if len(word) <= 40 else word[:37] + "...")


def served(request: bytes, rights: Mapping[str, object]) -> tuple[int, bytes, bytes]:
    """The exit code and both outputs of a command line from the account."""
    interfaces, programs = rights["interfaces"], rights["programs"]
    assert isinstance(interfaces, list)  # noqa: S101  (told to the type checker)
    assert isinstance(programs, dict)  # noqa: S101
    if len(request) > MOST_REQUEST_BYTES:
        return refused("the command line is too long")
    line = request.decode("ascii", errors="replace").split("\0")[1:]
    try:
        name, *words = accepted(line, interfaces, AVAILABLE.read_text("ascii").split())
    except RefusalError as refusal:
        return refused(f"the lab does not allow this: {refusal}")
    try:
        finished = subprocess.run(
            [programs[name], *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd="/",
            env={"LC_ALL": "C"},
            timeout=PROGRAM_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return refused(f"{name} did not end in {PROGRAM_LIMIT_S:g} s")
    code = finished.returncode if finished.returncode >= 0 else 1
    return code, finished.stdout[:MOST_OUTPUT_BYTES], finished.stderr[:MOST_OUTPUT_BYTES]


def refused(sentence: str) -> tuple[int, bytes, bytes]:
    """The answer to a command that was not run."""
    return 1, b"", f"sudo: {sentence}\n".encode()


def serve(connection: socket.socket, rights: Mapping[str, object]) -> None:
    """Receive a command line, run it, and reply; other users than the account get no reply."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    _, uid, _ = struct.unpack("3i", credentials)
    if uid != rights["uid"]:
        return
    connection.settimeout(REQUEST_LIMIT_S)
    code, output, errors = served(connection.recv(MOST_REQUEST_BYTES + 1), rights)
    connection.send(REPLY.pack(code, len(output)) + output + errors)


def main() -> None:
    """Serve one connection after the other, until the host ends."""
    rights = json.loads(sys.argv[1])
    with socket.socket(fileno=0) as listener:
        while True:
            connection, _ = listener.accept()
            # A caller that sends nothing or goes away must not end the helper.
            with connection, suppress(OSError):
                serve(connection, rights)


if __name__ == "__main__":
    main()
