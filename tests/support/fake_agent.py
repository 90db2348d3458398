"""A stand-in for `netprobe agent` that misbehaves on demand; run as a program of its own.

    python fake_agent.py [KNOB …]

Knobs: ``banner`` (lines and an unfinished one before hello), ``crlf``, ``bom``, ``garbage`` (bytes
that are no record between any two), ``huge`` (a line of 1 MiB before each record), ``silent``
(answers hello, then nothing), ``mute`` (never answers), ``endless`` (no line feed, ever),
``flood`` (lines that are no records, ever), ``blank`` (empty lines, ever), ``once`` (answers
one `clock`), ``slow`` (50 ms an answer), ``old`` (another version),
``other`` (another protocol), ``no-machine`` and ``no-network`` (without these ids),
``dies`` (ends with 3 on `clock`).
"""

from __future__ import annotations

import json
import os
import sys
import time

VERSION = os.environ["FAKE_VERSION"]
KNOBS = set(sys.argv[1:])
ENDLESS = {"endless": b"x", "flood": b"not a record\n", "blank": b"\n"}


def say(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def record(kind: str, request_id: str, **keys: object) -> None:
    if "slow" in KNOBS:
        time.sleep(0.05)
    if "garbage" in KNOBS:
        say(
            b'\x00\xff\x1b[31m{"type":\n[1,2]\n"type"\n{"id":7}\n{"type":3}\n' + b"[" * 5000 + b"\n"
        )
    if "huge" in KNOBS:
        say(b"x" * (1 << 16) * 3 + b'{"type":"hello","id":"1","protocol":99}\n')
    line = json.dumps({"type": kind, "id": request_id, **keys}, separators=(",", ":")).encode()
    if "bom" in KNOBS:
        line = b"\xef\xbb\xbf" + line
    say(line + (b"\r\n" if "crlf" in KNOBS else b"\n"))


def endless() -> None:
    line = next(data for knob, data in ENDLESS.items() if knob in KNOBS)
    part = line * 4096
    try:
        while True:
            say(part)
    except BrokenPipeError:
        sys.exit(0)


def hello(request_id: str) -> None:
    keys: dict[str, object] = {
        "protocol": 99 if "other" in KNOBS else 1,
        "version": "0.0.0" if "old" in KNOBS else VERSION,
        "build": "f00dcafef00dcafe",
        "os": "linux",
        "architecture": "x86_64",
        "cpu_count": 2,
    }
    if "no-network" not in KNOBS:
        keys["network_id"] = 7
    if "no-machine" not in KNOBS:
        keys["machine_id"] = "0123456789abcdef"
    record("hello", request_id, **keys)


def answer(line: str) -> None:
    request_id, verb, *_rest = line.split(" ")
    if verb == "hello":
        hello(request_id)
    elif "silent" in KNOBS:
        return
    elif verb == "clock" and "dies" in KNOBS:
        sys.stderr.write("the roof is on fire\n")
        sys.stderr.flush()
        os._exit(3)
    elif verb == "clock":
        if "once" in KNOBS:
            KNOBS.add("silent")
        record("clock", request_id, monotonic_ns=time.monotonic_ns() + 5_000_000_000, wall_ns=1)
    elif verb == "facts":
        name = os.environ.get("FAKE_HOSTNAME")
        record("facts", request_id, boot_id="the-boot", **({"hostname": name} if name else {}))
    elif verb == "echo":
        record("echo", request_id, line=line)
    elif verb == "refuse":
        record("error", request_id, error="address-in-use", errno=98, detail="bind")
    elif verb == "stream":
        record("ready", request_id, port=5001)
        record("progress", request_id, bytes=1)
        record("result", request_id, bytes=2)
    elif verb == "quit":
        record("quit", request_id)
        sys.exit(0)
    else:
        record(verb, request_id)


def main() -> None:
    if "banner" in KNOBS:
        say(b"\r\nWelcome to this host\r\nUnauthorised use is {forbidden}\n$ ")
    if KNOBS & ENDLESS.keys():
        endless()
    for line in sys.stdin:
        if line.strip() and "mute" not in KNOBS:
            answer(line.rstrip("\r\n"))


main()
