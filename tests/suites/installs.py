"""Installs netlab into an environment of its own, without the package index."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

WAIT_S = 900.0
FIGURE = re.compile(r"\b[0-9.]+ [GM]bit/s")
"""In the answer of ``netlab measure``; its progress goes to standard error."""


def around(folder: Path, **more: str) -> dict[str, str]:
    """A newcomer's surroundings: an empty home."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
    }
    (folder / "home").mkdir(exist_ok=True)
    return {**environment, "HOME": str(folder / "home"), "XDG_CACHE_HOME": "", **more}


def done(argv: list[str], **more: object) -> str:
    """Standard output of a program that ends well."""
    process = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
        stdin=subprocess.DEVNULL,
        **more,  # type: ignore[call-overload]
    )
    assert process.returncode == 0, f"{argv}:\n{process.stdout[-2000:]}\n{process.stderr[-4000:]}"
    return str(process.stdout)


def install(source: Path, folder: Path, *words: str) -> Path:
    """An environment with nothing but netlab in it, and the libraries of this one beside it."""
    venv = folder / "venv"
    done([sys.executable, "-m", "venv", "--without-pip", str(venv)])
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python"), "install"]
    always = ["--quiet", "--disable-pip-version-check", "--no-deps", "--no-index"]
    done([*pip, *always, *words, str(source)], cwd=folder)
    return venv
