"""Notes each function of netlab that an interpreter and its children run: used by shape.py.

Python imports this module at its start if its folder is in ``PYTHONPATH``. ``NETLAB_EXECUTED``
names the file to note in, ``NETLAB_PACKAGE`` the folder of the package. A line is a JSON array: the
path below that folder, the first line and the name of the code that runs, and whether it is a
function with a name, no lambda, comprehension or body of a class. The body of a module is left out.
A write to an agent is noted as well: its verb, and the names of netlab's functions on the stack,
from the trial's to this one.
"""

import json
import os
import sys
import threading
from types import CodeType, FrameType

PACKAGE = os.environ.get("NETLAB_PACKAGE", "") + os.sep
IS_FUNCTION = 1
"""Flag of code whose variables are local (CO_OPTIMIZED): not of a module or a class."""
TRIAL = ("Session.trial", "Session._trial")
"""The function that a trial begins with; the second is its name in older versions."""
WRITE = "LocalProcess.write"
"""The function that writes a request to an agent of this machine."""


class Notes:
    """The file of notes, and the code that is in it already."""

    def __init__(self, path: str) -> None:
        # Several processes write here; a write at the end of a file is whole.
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.seen: dict[int, CodeType] = {}
        """By ``id``: code of two files may be equal."""

    def take(self, frame: FrameType, event: str, _argument: object) -> None:
        """Called for each event of each function, see ``sys.setprofile``."""
        code = frame.f_code
        if event != "call":
            return
        if id(code) not in self.seen:
            self.seen[id(code)] = code
            file, name = code.co_filename, code.co_qualname
            if file.startswith(PACKAGE) and name != "<module>":
                place = file.removeprefix(PACKAGE), code.co_firstlineno
                self.note(*place, name, is_named_function(code))
        if code.co_qualname == WRITE:
            self.note(frame.f_locals["data"].split()[1].decode(), *names_from_trial(frame))

    def note(self, *words: object) -> None:
        os.write(self.file, json.dumps(words).encode() + b"\n")


def is_named_function(code: CodeType) -> bool:
    """Whether it is a function, but no lambda, comprehension or generator expression."""
    return bool(code.co_flags & IS_FUNCTION) and not code.co_name.startswith("<")


def names_from_trial(frame: FrameType) -> list[str]:
    """Names of netlab's functions on the stack, from the trial's to this one; none without."""
    names: list[str] = []
    below: FrameType | None = frame
    while below is not None:
        if below.f_code.co_filename.startswith(PACKAGE):
            names.insert(0, below.f_code.co_qualname)
            if names[0] in TRIAL:
                return names
        below = below.f_back
    return []


if path := os.environ.get("NETLAB_EXECUTED"):
    notes = Notes(path)
    threading.setprofile(notes.take)
    sys.setprofile(notes.take)
