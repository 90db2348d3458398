"""What netlab is installed from: a checkout in which nothing was built, its sdist, its wheel."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from folders import PROBES, ROOT
from installs import done

NEEDED = ("netlab", "matrices", "pyproject.toml", "README.md", "LICENSE", "docs/man/netlab.1")


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy in which nothing was built."""
    copy = tmp_path_factory.mktemp("checkout")
    skip = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    cache_filter = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for name in NEEDED:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, copy / name, ignore=cache_filter)
        else:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy / name)
    shutil.copytree(PROBES, copy / "probes", ignore=skip)
    return copy


def _made(checkout: Path, kind: str) -> Path:
    script = f"from setuptools import build_meta; print(build_meta.build_{kind}('dist'))"
    name = done([sys.executable, "-c", script], cwd=checkout).splitlines()[-1]
    return checkout / "dist" / name


@pytest.fixture(scope="session")
def sdist(checkout: Path) -> Path:
    return _made(checkout, "sdist")


@pytest.fixture(scope="session")
def small_wheel(checkout: Path) -> Path:
    """As pip makes it of a checkout: with the probe's sources in it, and no probe."""
    return _made(checkout, "wheel")
