"""The local probe: built when it is missing or older than its sources, never twice at once."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from netlab import build
from netlab.build import local_probe
from netlab.errors import NetlabError, UsageError

MAKEFILE = """\
.PHONY: all
all:
\t@echo made >> count; mkdir -p build; cp netprobe.c build/netprobe
"""


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources of a probe that is its own source."""
    folder = tmp_path / "probes"
    folder.mkdir()
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "netprobe.c").write_text("int main;\n")
    monkeypatch.setattr(build, "SOURCES", folder)
    return folder


needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="needs make")


def builds(sources: Path) -> int:
    count = sources / "count"
    return len(count.read_text().splitlines()) if count.exists() else 0


@needs_make
def test_a_probe_is_built_once_and_again_when_a_source_is_newer(sources: Path) -> None:
    said: list[str] = []
    assert local_probe(said.append).read_text() == "int main;\n"
    local_probe(said.append)
    assert (builds(sources), said) == (1, ["building the probe for this machine"])
    later = time.time() + 5
    os.utime(sources / "netprobe.c", (later, later))
    local_probe(said.append)
    assert builds(sources) == 2


@needs_make
def test_two_hosts_at_once_build_it_once(sources: Path) -> None:
    threads = [threading.Thread(target=local_probe) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert builds(sources) == 1


@needs_make
def test_a_failed_build_shows_what_the_compiler_said(sources: Path) -> None:
    (sources / "Makefile").write_text("all:\n\t@echo netprobe.c:1: no such thing >&2; exit 1\n")
    with pytest.raises(NetlabError, match=r"failed:\nnetprobe.c:1: no such thing"):
        local_probe()


@needs_make
def test_a_missing_compiler_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, sources: Path
) -> None:
    real = Path(__file__).resolve().parent.parent / "probes"
    for name in ("Makefile", "json.c"):
        shutil.copy(real / name, sources / name)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(UsageError, match=r"^netprobe needs a C compiler.*apt-get install gcc"):
        local_probe()


def test_missing_make_is_named_with_the_command_that_installs_it(
    sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(sources))
    with pytest.raises(UsageError, match="sudo apt-get install make"):
        local_probe()


def test_an_installation_without_sources_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(build, "SOURCES", tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"no sources of the probe in .*nowhere"):
        local_probe()
