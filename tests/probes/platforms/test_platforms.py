"""The probe and the contract of its platform files on every system that can run here: Linux with
two C libraries, another processor under qemu, Windows under wine. What cannot run here is compiled
and linked."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import pytest
from folders import PROBES
from needs import require
from netprobe_agents import PATIENCE_S
from runners import SOURCES, Runner, make

from netlab.build import binaries
from netlab.build.binaries import TARGETS, Target


def system_of(binary: Path) -> str:
    """System and processor that an executable is for, by its own header."""
    head = binary.read_bytes()[:4096]
    processors = {0x3E: "x86_64", 0xB7: "aarch64", 0x8664: "x86_64", 0xAA64: "aarch64"}
    if head[:4] == b"\x7fELF":
        system = "freebsd" if b"/libexec/ld-elf.so.1" in head else "linux"
        return f"{system}-{processors[struct.unpack_from('<H', head, 18)[0]]}"
    if head[:2] == b"MZ":
        at = struct.unpack_from("<I", head, 0x3C)[0]
        assert head[at : at + 4] == b"PE\0\0"
        return f"windows-{processors[struct.unpack_from('<H', head, at + 4)[0]]}"
    assert head[:4] == b"\xcf\xfa\xed\xfe", head[:4]
    processor = {0x01000007: "x86_64", 0x0100000C: "aarch64"}
    return f"macos-{processor[struct.unpack_from('<I', head, 4)[0]]}"


@pytest.mark.night
@pytest.mark.needs("zig")
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_probe_links_for_each_target_without_a_warning(target: Target) -> None:
    require("zig")
    for build in (
        binaries.build_contract(SOURCES, target),
        binaries.build(SOURCES, target),
    ):
        assert system_of(build.path) == target.name
        assert "warning" not in build.said


def test_make_lists_the_same_targets_as_netlab() -> None:
    assert make("targets").split() == [target.name for target in TARGETS]


SOURCE = PROBES / "src"


def contract_functions() -> set[str]:
    text = (PROBES / "src/platform/plat.h").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    names = set(re.findall(r"^[a-z][\w \*]*?\b(plat_\w+)\(", text, re.MULTILINE))
    assert len(names) > 60
    return names


def test_the_contract_tests_call_each_function_of_the_platform_contract() -> None:
    tests = "".join(path.read_text() for path in (PROBES / "tests/contract").glob("*.c"))
    assert {name for name in contract_functions() if f"{name}(" not in tests} == set()


@pytest.mark.parametrize("system", ["linux", "windows", "macos", "freebsd"])
def test_each_system_defines_every_function_of_the_platform_contract(system: str) -> None:
    names = make("platform", f"TARGET_OS={system}").split()
    assert any(name.endswith(f"/{system}.c") for name in names)
    files = "".join((PROBES / name).read_text() for name in names)
    absent_functions = {
        name for name in contract_functions() if not re.search(rf"^\w.*\b{name}\(", files, re.M)
    }
    assert absent_functions == set()


def test_few_files_of_the_probe_depend_on_the_operating_system() -> None:
    """Seldom a platform file, either: what a system does by itself stands in a file of its own."""
    limits = {"plat.h": 2, "address.h": 1, "posix.c": 1}
    condition = r"^#\s*(?:el)?if.*\b(?:_WIN32|__linux__|__APPLE__|__FreeBSD__)\b"
    files = sorted(SOURCE.rglob("*.[ch]"))
    counts = {file: len(re.findall(condition, file.read_text(), re.M)) for file in files}
    assert {file.name: count for file, count in counts.items() if count} == limits


@pytest.mark.lab
def test_the_platform_contract_holds_on_each_system(every_runner: Runner) -> None:
    check_contract(every_runner)


def check_contract(runner: Runner) -> None:
    process = subprocess.Popen(
        runner.contract, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    lines: list[str] = []
    with process.stdout:
        for line in process.stdout:
            lines.append(line)
            if line == "say something\n":
                process.stdin.write("something\n")
                process.stdin.close()
    assert process.wait(PATIENCE_S) == 0, "".join(lines)
    assert re.fullmatch(r"(\d\d+) contract tests, 0 failed\n", lines[-1]), "".join(lines)
