"""Probes: built when they are missing or their sources changed, never twice; or as installed."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
import time
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from folders import PROBES

from netlab.build import binaries
from netlab.build.binaries import Sources, local_probe, local_target, probe_for, target_of
from netlab.errors import NetlabError, UsageError

MAKEFILE = """\
.PHONY: all
all:
\t@echo made >> count; mkdir -p build; cp src/netprobe.c build/netprobe
"""


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources of a probe that is its own source."""
    folder = tmp_path / "probes"
    (folder / "src").mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "src" / "netprobe.c").write_text("int main;\n")
    monkeypatch.setattr(binaries, "CHECKOUT", folder)
    monkeypatch.setattr(binaries, "BUILD_S", None)  # a wait with an end would look again and again
    return folder


needs_make = pytest.mark.needs("cc")


def builds(sources: Path) -> int:
    count = sources / "count"
    return len(count.read_text().splitlines()) if count.exists() else 0


@needs_make
def test_the_probe_is_built_once_and_again_after_a_source_changes(sources: Path) -> None:
    messages: list[str] = []
    assert local_probe(messages.append).read_text() == "int main;\n"
    local_probe(messages.append)
    assert (builds(sources), messages) == (1, ["building the probe for this machine"])
    later = time.time() + 5
    os.utime(sources / "src" / "netprobe.c", (later, later))
    local_probe(messages.append)
    assert builds(sources) == 2


@needs_make
def test_four_hosts_that_need_a_probe_at_once_build_it_only_once(sources: Path) -> None:
    threads = [threading.Thread(target=local_probe) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert builds(sources) == 1


@needs_make
def test_a_failed_build_shows_the_message_of_the_compiler(sources: Path) -> None:
    (sources / "Makefile").write_text("all:\n\t@echo netprobe.c:1: no such thing >&2; exit 1\n")
    with pytest.raises(NetlabError, match=r"failed:\nnetprobe.c:1: no such thing"):
        local_probe()


@needs_make
def test_a_missing_compiler_is_named_with_the_command_to_install(
    monkeypatch: pytest.MonkeyPatch, sources: Path
) -> None:
    shutil.copy(PROBES / "Makefile", sources)
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(UsageError, match=r"^netprobe needs a C compiler.*apt-get install gcc"):
        local_probe()


@needs_make
def test_missing_headers_of_libc_are_named_with_the_command_to_install(
    monkeypatch: pytest.MonkeyPatch, sources: Path, tmp_path: Path
) -> None:
    """A real compiler that looks for no header but its own."""
    shutil.copytree(PROBES, sources, ignore=shutil.ignore_patterns("build"), dirs_exist_ok=True)
    compiler = tmp_path / "bare-cc"
    compiler.write_text('#!/bin/sh\nexec cc -nostdinc "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(UsageError, match=r"of the C library are missing: sudo apt-get install"):
        local_probe()


def test_missing_make_is_named_with_the_command_to_install(
    sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(sources))
    with pytest.raises(UsageError, match="sudo apt-get install make"):
        local_probe()


def test_a_missing_source_folder_of_the_probe_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(binaries, "CHECKOUT", tmp_path / "nowhere")
    with pytest.raises(UsageError, match=r"no sources of the probe in .*nowhere"):
        local_probe()


# ---- other systems ----


needs_mingw = pytest.mark.needs("mingw")


def no_zig(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(binaries, "version_of", missing)


@pytest.fixture
def zig(sources: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Sources whose Makefile copies them instead of calling a compiler."""
    monkeypatch.setattr(binaries, "version_of", lambda _name: "0.1")
    monkeypatch.setattr(binaries, "MINGW", "no-such-compiler")
    (sources / "Makefile").write_text(
        "cross-%:\n\t@echo made >> count; mkdir -p $(BUILD)/cross/$*; "
        "cp src/netprobe.c $(BUILD)/cross/$*/netprobe$(if $(filter windows-%,$*),.exe)\n"
    )
    return sources


@needs_make
def test_the_probe_of_another_system_is_built_once_for_each_version_of_the_sources(
    zig: Path,
) -> None:
    messages: list[str] = []
    first = probe_for("W", "AMD64", messages.append)
    assert (first.name, first.parent.parent) == ("netprobe.exe", zig / "build" / "windows-x86_64")
    assert first.read_text() == "int main;\n"
    assert probe_for("W", "x86_64", messages.append) == first
    assert (builds(zig), len(messages)) == (1, 2)
    assert messages[0].startswith("building the probe for Windows on x86_64 with zig 0.1")
    (zig / "src" / "netprobe.c").write_text("int changed;\n")
    second = probe_for("W", "x86_64")
    assert (second.read_text(), builds(zig)) == ("int changed;\n", 2)
    (zig / "src" / "netprobe.c").write_text("int main;\n")
    assert (probe_for("W", "x86_64"), builds(zig)) == (first, 2)


@needs_make
def test_another_version_of_the_compiler_builds_the_probe_again(
    zig: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = probe_for("F", "x86_64")
    monkeypatch.setattr(binaries, "version_of", lambda _name: "0.2")
    assert probe_for("F", "x86_64") != first
    assert builds(zig) == 2


@needs_make
def test_a_failed_build_for_another_system_leaves_no_file(zig: Path) -> None:
    (zig / "Makefile").write_text("cross-%:\n\t@echo netprobe.c:1: no such thing >&2; exit 1\n")
    with pytest.raises(NetlabError, match=r"failed:\nnetprobe.c:1: no such thing"):
        probe_for("M", "arm64")
    assert [path for path in (zig / "build").rglob("*") if path.is_file()] == []


def test_missing_zig_is_named_with_the_command_to_install(
    sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_zig(monkeypatch)
    monkeypatch.setenv("PATH", str(sources))
    for system, architecture in (("W", "x86_64"), ("M", "aarch64")):
        with pytest.raises(UsageError, match=r"pip install 'netlab-matrix\[cross\]'"):
            probe_for(system, architecture)


def test_a_processor_without_a_probe_is_named(sources: Path) -> None:
    with pytest.raises(UsageError, match="no probe for Windows on mips, only for Linux on x86_64"):
        probe_for("W", "mips")


def test_the_probe_for_the_system_of_this_machine_is_the_local_probe(
    sources: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "local_probe", lambda _say: sources)
    target = local_target()
    assert probe_for(target.os, target.architecture) == sources


@pytest.mark.night
@needs_make
@needs_mingw
def test_without_zig_mingw_builds_identical_windows_probes_in_two_different_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_zig(monkeypatch)
    probes = []
    for name in ("first", "a-much-longer-second"):
        copy = tmp_path / name / "probes"
        shutil.copytree(binaries.CHECKOUT, copy, ignore=shutil.ignore_patterns("build"))
        (copy.parent / "netlab").mkdir()
        shutil.copy(binaries.PACKAGE / "version.py", copy.parent / "netlab")
        probes.append(binaries.build(Sources.of_checkout(copy), target_of("W", "x86_64")))
    exes = [probe.path.read_bytes() for probe in probes]
    assert exes[0] == exes[1]
    assert exes[0].startswith(b"MZ")
    assert str(tmp_path).encode() not in exes[0]
    assert probes[0].compiler.startswith("mingw-w64 gcc 1")


@pytest.mark.night
@needs_make
@pytest.mark.needs("zig")
@pytest.mark.parametrize(
    "name", ["linux-x86_64", "windows-x86_64", "macos-aarch64", "freebsd-x86_64"]
)
def test_the_same_source_builds_the_same_probe_in_each_folder(name: str, tmp_path: Path) -> None:
    (target,) = binaries.targets_named([name])
    copy = tmp_path / "probes"
    shutil.copytree(binaries.CHECKOUT, copy, ignore=shutil.ignore_patterns("build"))
    (tmp_path / "netlab").mkdir()
    shutil.copy(binaries.PACKAGE / "version.py", tmp_path / "netlab")
    first = binaries.build(binaries.sources(), target).path.read_bytes()
    again = binaries.build(Sources.of_checkout(copy), target)
    assert again.seconds is not None
    assert again.path.read_bytes() == first
    assert str(tmp_path).encode() not in first


# ---- an installation, and a release ----


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation without sources: its probe for this machine."""
    monkeypatch.setattr(binaries, "CHECKOUT", tmp_path / "nowhere")
    monkeypatch.setattr(binaries, "PACKAGED", tmp_path / "packaged")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "packaged" / local_target().name / local_target().file_name
    path.parent.mkdir(parents=True)
    path.write_text("a probe")
    return path


def test_an_installation_starts_its_packaged_probe(packaged: Path) -> None:
    packaged.chmod(0o755)
    assert local_probe() == packaged


def test_a_packaged_probe_that_is_not_executable_starts_from_the_cache(packaged: Path) -> None:
    packaged.chmod(0o644)
    copy = local_probe()
    assert copy.is_relative_to(packaged.parent.parent.parent / "cache")
    assert os.access(copy, os.X_OK)
    assert copy.read_text() == "a probe"
    copy.write_text("torn")
    assert local_probe().read_text() == "a probe"


@needs_make
def test_the_table_of_a_release_has_size_and_digest_of_each_probe(
    zig: Path, tmp_path: Path
) -> None:
    targets = binaries.targets_named(["windows-aarch64", "linux-x86_64"])
    probes = binaries.build_all(targets, tmp_path / "laid")
    head, *rows = (line.split() for line in binaries.as_table(probes).splitlines())
    assert head == ["target", "compiler", "bytes", "seconds", "sha256"]
    assert [row[0] for row in rows] == ["windows-aarch64", "linux-x86_64"]
    for row, name in zip(rows, ("netprobe.exe", "netprobe"), strict=True):
        laid = (tmp_path / "laid" / row[0] / name).read_bytes()
        assert row[1:4] == ["zig", "0.1", str(len(laid))]
        assert row[-1] == hashlib.sha256(laid).hexdigest()


def test_an_unknown_target_is_refused_with_the_list_of_targets() -> None:
    with pytest.raises(UsageError, match="'amiga' is not a target; there are linux-x86_64, "):
        binaries.targets_named(["linux-x86_64", "amiga"])
