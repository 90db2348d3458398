"""The doctor of labs: a piece is taken away from it, and it names the command that brings it back.

Each in a mount or a user namespace of its own: nothing is taken from anybody else.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from netlab.errors import HostError
from netlab.lab import programs

DOCTOR = (sys.executable, "-m", "netlab", "lab", "doctor")
COMMAND = re.compile(r"(sudo (apt-get|dnf|sysctl|modprobe|mount|netlab)|docker run) \S+")
needs_root = pytest.mark.needs("namespaces")
pytestmark = pytest.mark.beside


def told(*words: str) -> dict[str, str]:
    """What the doctor says is missing, run by that command: piece → remedy."""
    process = subprocess.run(
        [*words, *DOCTOR], capture_output=True, text=True, timeout=300, check=False
    )
    lines = process.stdout.splitlines()
    assert lines, process.stderr
    assert all(line.startswith(("ok       ", "missing  ")) for line in lines)
    complaints = [line.removeprefix("missing  ") for line in lines if line.startswith("missing")]
    assert process.returncode == (HostError.exit_code if complaints else 0)
    for line in complaints:
        assert COMMAND.search(line), line
    return {piece: remedy for _, piece, remedy in (line.split(": ", 2) for line in complaints)}


def without(*files: str) -> Sequence[str]:
    """A command that finds no such programs, wherever they lie."""
    hide = " && ".join(f"mount --bind /dev/null {file}" for file in files)
    return ["unshare", "--mount", "sh", "-ec", f'{hide} && exec "$@"', "sh"]


def files_of(program: str, search_path: str) -> list[str]:
    """Every file that a search for a program may find."""
    folders = dict.fromkeys(search_path.split(os.pathsep))
    paths = [shutil.which(program, path=folder) for folder in folders]
    return list(dict.fromkeys(str(Path(path).resolve()) for path in paths if path))


@needs_root
@pytest.mark.needs("lab")
def test_the_doctor_names_every_missing_program_with_its_package() -> None:
    files = {name: files_of(name, programs.SEARCH_PATH) for name in programs.PROGRAMS}
    assert all(files.values())
    # What hides the others is hidden last.
    hidden = sorted({*chain(*files.values())}, key=lambda file: file.endswith("/mount"))
    remedies = told(*without(*hidden))
    package = {**programs.PROGRAMS, **(programs.FEDORA_PACKAGES if programs.has_dnf() else {})}
    for program in programs.PROGRAMS:
        (piece,) = [piece for piece in remedies if program in piece.split(", ")]
        assert remedies[piece].split()[:3] in (
            ["sudo", "apt-get", "install"],
            ["sudo", "dnf", "install"],
        )
        assert package[program] in remedies[piece].split()


@needs_root
@pytest.mark.needs("windows-hosts")
def test_the_doctor_names_a_missing_program_of_windows_hosts() -> None:
    compiler = files_of("x86_64-w64-mingw32-gcc", programs.SEARCH_PATH)
    remedies = told(*without(*compiler))
    assert remedies["x86_64-w64-mingw32-gcc"].endswith((" gcc-mingw-w64-x86-64", " mingw64-gcc"))


@needs_root
@pytest.mark.needs("lab")
def test_the_doctor_tells_an_ordinary_account_to_use_sudo() -> None:
    # It may read all files: the checkout may lie where root alone can.
    reads = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *reads)
    assert told(*nobody) == {"root": "sudo netlab lab doctor"}


@needs_root
@pytest.mark.needs("lab")
@pytest.mark.parametrize(
    ("right", "pieces"),
    [
        ("sys_admin", {"network, mount and process namespaces"}),
        ("net_admin", {"veth", "bridge", "token bucket (tbf)"}),
    ],
)
def test_the_doctor_names_a_missing_right_of_root_with_the_docker_option_for_it(
    right: str, pieces: set[str]
) -> None:
    remedies = told("setpriv", f"--bounding-set=-{right}", f"--inh-caps=-{right}")
    assert pieces <= remedies.keys() <= pieces | {"overlay file systems"}
    for piece in pieces:
        assert "docker run --cap-add SYS_ADMIN --cap-add NET_ADMIN" in remedies[piece]


@needs_root
@pytest.mark.needs("lab")
def test_the_doctor_names_a_limit_on_namespaces_with_the_sysctl_that_lifts_it() -> None:
    """The limit is that of a user namespace of its own, in which the doctor is root."""
    nothing = 'echo 0 >/proc/sys/user/max_net_namespaces && exec "$@"'
    remedies = told("unshare", "--user", "--map-root-user", "sh", "-ec", nothing, "sh")
    assert remedies == {
        "network, mount and process namespaces": "unshare: unshare failed: No space left on "
        "device: sudo sysctl -w user.max_net_namespaces=10000"
    }


KERNEL_LACKS = {
    # Program, the word that it refuses, what it says (of iproute2 and util-linux): module.
    ("ip", "veth", "Error: Unknown device type."): ("veth", "veth"),
    ("ip", "bridge", "RTNETLINK answers: Operation not supported"): ("bridge", "bridge"),
    ("tc", "tbf", "Error: Specified qdisc kind is unknown."): ("token bucket (tbf)", "sch_tbf"),
    ("mount", "overlay", "mount: d: unknown filesystem type 'overlay'."): (
        "overlay file systems",
        "overlay",
    ),
}


@needs_root
@pytest.mark.needs("lab")
@pytest.mark.parametrize("words", [("veth",), ("bridge", "tbf", "overlay")], ids="-".join)
def test_the_doctor_names_each_missing_kernel_module_with_its_modprobe_command(
    words: tuple[str, ...],
) -> None:
    """By programs before the real ones that say what the kernel makes them say."""
    lacking = {key: remedy for key, remedy in KERNEL_LACKS.items() if key[1] in words}
    # Not below /tmp: the doctor lays a file system over it in which it tries the layers.
    with TemporaryDirectory(dir="/var/tmp") as folder:
        for name in {program for program, _, _ in lacking}:
            refusals = "".join(
                f'if [ "$word" = {word} ]; then echo "{message}" >&2; exit 2; fi; '
                for program, word, message in lacking
                if program == name
            )
            own = Path(folder, name)
            own.write_text(
                f'#!/bin/sh\nfor word; do {refusals}done\nexec {programs.program(name)} "$@"\n'
            )
            own.chmod(0o755)
        remedies = told("env", f"PATH={folder}:{os.environ['PATH']}")
    for (_, _, message), (piece, module) in lacking.items():
        load = f"{message}: sudo modprobe {module} (if there is no such module: sudo "
        assert load in remedies[piece]


def test_missing_control_groups_are_reported_with_the_command_that_provides_them(
    tmp_path: Path,
) -> None:
    nothing, old, new = tmp_path / "nothing", tmp_path / "old", tmp_path / "new"
    for folder in (nothing, old / "cpu", new):
        folder.mkdir(parents=True)
    assert f"sudo mount -t cgroup2 none {nothing}" in str(programs.quota_remedy(nothing))
    (old / "cpu" / "cpu.cfs_quota_us").touch()
    assert programs.quota_remedy(old) is None
    (new / "cgroup.controllers").write_text("memory pids\n")
    assert "docker run --privileged --cgroupns=host" in str(programs.quota_remedy(new))
    (new / "cgroup.controllers").write_text("cpu memory\n")
    assert programs.quota_remedy(new) is None


def test_install_commands_use_the_package_manager_of_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "SEARCH_PATH", str(tmp_path))
    lack = programs.missing_programs(search_path=str(tmp_path))
    assert lack == tuple(programs.PROGRAMS)
    packages = "iproute2 ethtool openssh-server openssh-client util-linux mount procps"
    debian = f"sudo apt-get install {packages}"
    fedora = (
        "sudo dnf install iproute iproute-tc ethtool openssh-server openssh util-linux "
        "util-linux-core procps-ng"
    )
    assert programs.install_command(lack) == f"{debian} (Fedora: {fedora})"
    (tmp_path / "dnf").touch(0o755)
    assert programs.install_command(lack) == fedora
    (tmp_path / "apt-get").touch(0o755)
    assert programs.install_command(lack) == debian
    assert set(programs.FEDORA_PACKAGES) <= {*programs.PROGRAMS, *programs.WINDOWS_PROGRAMS}


def test_the_doctor_on_macos_names_a_command_that_provides_namespaces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert COMMAND.search(programs.examine()[0].as_text())
