"""A script: runs commands of netlab and Python code in turn, and prints what came of each in JSON.

``commands_in_turn.py '[["status", "run"], "print(1)"]'``: a list is a command, a text is code.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys

from netlab.cli import main


def outcome(task: list[str] | str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    streams = [io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2)]
    code = 0
    with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
        if isinstance(task, str):
            exec(task, {})  # noqa: S102  (a test's own code)
        else:
            sys.argv = ["netlab", *task]
            try:
                main()
            except SystemExit as leaving:
                code = int(leaving.code or 0)
    texts = []
    for stream in streams:
        stream.seek(0)
        texts.append(stream.read())
    return code, texts[0], texts[1]


if __name__ == "__main__":
    print(json.dumps([outcome(task) for task in json.loads(sys.argv[1])]))
