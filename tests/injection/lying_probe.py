"""A host that lies: its agent is the real probe, and what that prints is altered on its way.

    python lying_probe.py netlab WORD …   netlab itself, whose host LIAR has that agent
    python lying_probe.py agent LIE …     the agent; PROBE names the real one

Lies are ``TYPE.KEY=JSON`` (another value for a key of a record of that type), ``TYPE.KEY`` (the
key is missing), or one of ``LIES``. Of those with an ``@`` before them each is for one test, the
first for the first. What only checks the way is answered truly.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from itertools import repeat

Write = Callable[[bytes], None]

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m\x9b5m\r\n"
"""Set a title, clear the screen, set a colour, blink (by a C1 byte), forge a line."""


def _garbage(line: bytes, write: Write) -> None:
    """Noise between any two records, a colour before each and CRLF behind."""
    noise = random.Random(line).randbytes(300)  # noqa: S311  (the same each time)
    write(noise + b"\n\xef\xbb\xbf\x00\n" + b'{"type":\n[1,2]\n{"id":7}\n' + b"[" * 5000)
    write(b"\n\x1b[32m$ " + line.rstrip(b"\n") + b"\r\n")


def _half(line: bytes, write: Write) -> None:
    write(line[: len(line) // 2] + b"\n" if b'"message_bytes"' in line else line)


def _long_line(line: bytes, write: Write) -> None:
    """1 GiB without a line feed, in place of a result."""
    if b'"message_bytes"' not in line:
        write(line)
        return
    for part in repeat(b"x" * (1 << 20), 1024):
        write(part)


def _endless(line: bytes, write: Write) -> None:
    """Valid records of the same request, for ever, in place of a result."""
    if b'"message_bytes"' not in line:
        write(line)
        return
    record = json.loads(line) | {"type": "progress"}
    part = b"".join([json.dumps(record).encode() + b"\n"] * 64)
    while True:
        write(part)


def _strange_ids(line: bytes, write: Write) -> None:
    """Valid records that nobody asked for, for ever, behind the first result."""
    write(line)
    while b'"message_bytes"' in line:
        write(b'{"type":"result","id":"nobody","elapsed_ns":1}\n' * 1024)


def _utf16(line: bytes, write: Write) -> None:
    """As a PowerShell that rewrites what programs print."""
    write(b"\xff\xfe" + line.decode().replace("\n", "\r\n").encode("utf-16-le"))


def _code_page(line: bytes, write: Write) -> None:
    """Names of the host in its own code page, and CRLF."""
    if b'"hello"' in line:
        line = line.replace(b'"hello"', b'"hello","os_release":"B\x81ro \x9b"', 1)
    write(line.replace(b"\n", b"\r\n"))


def _error(line: bytes, write: Write) -> None:
    """An error with escape sequences in its sentence, in place of a result."""
    if b'"message_bytes"' not in line:
        write(line)
        return
    record = {"type": "error", "id": json.loads(line)["id"], "error": "system", "detail": ESCAPES}
    write(json.dumps(record).encode() + b"\n")


def _holder(line: bytes, write: Write) -> None:
    """The lock is held by somebody with escape sequences in his name."""
    record = json.loads(line)
    if record["type"] == "lock":
        record = {"type": "error", "id": record["id"], "error": "locked", "detail": ESCAPES}
    write(json.dumps(record).encode() + b"\n")


def _last_words(line: bytes, write: Write) -> None:
    """The probe dies in place of a result, and says escape sequences."""
    if b'"message_bytes"' in line:
        os.write(2, b"said " + ESCAPES.strip().encode("utf-8"))
        os._exit(3)
    write(line)


LIES: dict[str, Callable[[bytes, Write], None]] = {
    "garbage": _garbage,
    "half": _half,
    "long-line": _long_line,
    "endless": _endless,
    "strange-ids": _strange_ids,
    "utf-16": _utf16,
    "code-page": _code_page,
    "error": _error,
    "holder": _holder,
    "last-words": _last_words,
}


def _altered(line: bytes, lie: str) -> bytes:
    """One record with another value for a key, or without it."""
    target, equals, value = lie.partition("=")
    kind, _, key = target.partition(".")
    record = json.loads(line)
    if record["type"] != kind or (kind == "result" and "message_bytes" not in record):
        return line
    record.pop(key, None)
    text = json.dumps(record, separators=(",", ":"))
    return (text[:-1] + (f',"{key}":{value}' if equals else "") + "}\n").encode()


def write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def agent(lies: list[str]) -> None:
    child = subprocess.Popen(
        [os.environ["PROBE"], "agent"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None and child.stdout is not None

    def listen() -> None:
        assert child.stdin is not None
        while part := os.read(0, 65536):
            os.write(child.stdin.fileno(), part)
        child.stdin.close()

    threading.Thread(target=listen, daemon=True).start()
    of_one = [lie.removeprefix("@") for lie in lies if lie.startswith("@")]
    always = [lie for lie in lies if not lie.startswith("@")]
    try:
        for line in child.stdout:
            output = line
            line_lies = [*always, *of_one[:1]]
            if b'"message_bytes"' in line:
                del of_one[:1]
            for lie in line_lies:
                output = output if lie in LIES else _altered(output, lie)
            special = next((LIES[lie] for lie in line_lies if lie in LIES), None)
            if special is None or (b'"hello"' in line and special is not _code_page):
                write(output)
            else:
                special(output, write)
    except BrokenPipeError:
        os._exit(1)


def netlab(words: list[str]) -> None:
    from netlab.cli import main
    from netlab.remote import deploy

    honest = deploy.places

    def places(host, *arguments):  # type: ignore[no-untyped-def]
        for place in honest(host, *arguments):
            if host.name != os.environ["LIAR"]:
                yield place
                continue
            os.environ["PROBE"] = place.path
            argv = (sys.executable, "-S", __file__, "agent", *json.loads(os.environ["LIES"]))
            yield deploy.ProbePlace(argv, place.binary, place.path)

    deploy.places = places
    sys.argv = ["netlab", *words]
    main()


if __name__ == "__main__":
    {"agent": agent, "netlab": netlab}[sys.argv[1]](sys.argv[2:])
