"""Probes whose system calls answer as an older kernel, a busy host or another card would.

They are linked with the C library of this machine, so that faulty_calls.c comes before it.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from folders import PROBES


@pytest.fixture(scope="session")
def faulty_probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that starts the probe so; the environment's ``FAULTY`` says what is to fail."""
    folder = tmp_path_factory.mktemp("faulty")
    probe, library, start = (folder / name for name in ("probe", "faulty.so", "netprobe"))
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    words = ["make", "-s", "-C", str(PROBES), f"OUT={probe}", "LINK=dynamic", "all"]
    subprocess.run(words, check=True, env=environment, stdout=subprocess.DEVNULL)
    source = PROBES / "tests" / "faulty_calls.c"
    flags = ["-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["gcc", *flags, "-o", str(library), str(source), "-ldl"], check=True)
    start.write_text(f'#!/bin/sh\nLD_PRELOAD={library} exec {probe} "$@"\n')
    start.chmod(0o755)
    return start
