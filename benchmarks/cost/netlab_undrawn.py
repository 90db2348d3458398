"""Runs commands of netlab, several at a time, without drawing: used by same_reports.py.

``python -P netlab_undrawn.py JOBS`` reads a JSON array of jobs. A job has the words of a command, a
file for its standard output, and whether a run with segments counts as a large run, however short.
Each job runs in a fork of a process that has loaded all of netlab. In place of the drawing of a
chart, a job writes what the chart is made of, letters and coordinates, as its SVG. The netlab is
the one that ``PYTHONPATH`` leads to.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import traceback
from pathlib import Path
from typing import IO, Any, NoReturn

from matplotlib.artist import Artist
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

import netlab
from netlab.cli import main as command

AT_ONCE = 2
LIMIT = "LARGE_TRIALS"
"""Constant of netlab.results: the number of trials of the longest run that is not large."""


def main() -> int:
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(netlab.__path__, "netlab.")
        if module.name.split(".")[1] in {"report", "results", "findings", "store"}
    ]
    limited = [module for module in modules if hasattr(module, LIMIT)]
    if not limited:
        raise SystemExit(f"no module of netlab has {LIMIT}: give it the new name")
    # Without other processes, the report draws in its own.
    subprocess.Popen = refused  # type: ignore[assignment, misc]
    Figure.savefig = describe  # type: ignore[assignment]
    failures = 0
    running = 0
    for words, output, as_large in json.loads(Path(sys.argv[1]).read_text("utf-8")):
        if running >= AT_ONCE:
            failures += os.wait()[1] != 0
            running -= 1
        if not os.fork():
            for module in limited if as_large else ():
                setattr(module, LIMIT, 0)
            run(words, output)
        running += 1
    for _job in range(running):
        failures += os.wait()[1] != 0
    return 1 if failures else 0


def run(words: list[str], output: str) -> NoReturn:
    """Run the command in this process, which ends with it."""
    status = 1
    try:
        with Path(output).open("wb") as file:
            os.dup2(file.fileno(), sys.stdout.fileno())
        sys.argv = ["netlab", *words]
        command()
        status = 0
    except SystemExit as end:
        status = 0 if end.code in {0, None} else 1
    except BaseException:
        traceback.print_exc()
    finally:
        if status:
            print("failed: netlab", *words, file=sys.stderr)
        sys.stdout.flush()
        os._exit(status)


def refused(*_words: Any, **_options: Any) -> NoReturn:
    raise OSError("no other process draws")


def describe(figure: Figure, file: IO[bytes], *, format: str, **_options: Any) -> None:  # noqa: A002
    """Write the letters and the coordinates of a figure, one line per artist."""
    lines = [format]
    if format == "svg":
        said = [(type(artist).__name__, said_by(artist)) for artist in figure.findobj()]
        lines = [f"{name} {words}" for name, words in said if words]
    file.write("\n".join(lines).encode())


def said_by(artist: Artist) -> str:
    match artist:
        case Text() if artist.get_visible():
            return artist.get_text()
        case Line2D():
            return plain(artist.get_xydata())
        case Patch():
            return plain(artist.get_path().vertices, artist.get_patch_transform().get_matrix())
        case AxesImage():
            return plain(artist.get_array())
        case Collection():
            paths = (path.vertices for path in artist.get_paths())
            return plain(artist.get_offsets(), *paths)
    return ""


def plain(*arrays: Any) -> str:
    numbers = [number for array in arrays for number in array.ravel().tolist()]
    return " ".join(f"{number:.6g}" for number in numbers if number is not None)


if __name__ == "__main__":
    sys.exit(main())
