"""What tests need of a machine, in one table: how it is found out, what brings it, and who asks.

A test names its needs with ``@pytest.mark.needs("root", "sshd")``, or by a fixture that has some.
They settle whether it is a test of the lab (kinds.py) and whether it is run alone, and skip it
where one is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

STRICT = "NETLAB_CI" in os.environ
"""This machine has all that can be installed: what is missing there fails the test."""
EXCUSED = "this machine has no "
"""How a skip begins that no package could have saved."""

SYSTEM_PATH = os.pathsep.join(
    [os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin", "/usr/local/sbin"]
)
WINDOWS_PYTHON = Path(__file__).parents[2] / ".venv/windows/python/python.exe"
AXE = Path(__file__).parents[2] / ".venv/axe/node_modules/axe-core/axe.min.js"


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a test may need."""

    met: Callable[[], bool]
    what: str
    """What it is, and what brings it; if no package does, only what it is."""
    of_units: bool = False
    """Whether a unit may have it: it starts nothing but a compiler, or is a library."""
    alone: bool = False
    """Whether tests with it measure, so that nothing else may run beside them."""
    unpackaged: bool = False
    """Whether no package brings it."""


def _program(*names: str) -> Callable[[], bool]:
    """Whether one of these programs is installed."""
    return lambda: any(shutil.which(name, path=SYSTEM_PATH) for name in names)


def _module(name: str) -> Callable[[], bool]:
    return lambda: find_spec(name) is not None


def _root() -> bool:
    return sys.platform == "linux" and os.geteuid() == 0


def _lab() -> bool:
    from netlab import lab

    return _root() and not lab.missing_programs()


def _windows_hosts() -> bool:
    from netlab.lab import programs

    return _lab() and not programs.missing_programs(programs.WINDOWS_PROGRAMS)


def _quota() -> bool:
    from netlab.lab import programs

    return programs.quota_controller() is not None


def _time_namespaces() -> bool:
    argv = ["unshare", "--time", "--fork", "--monotonic=5", "true"]
    return _program("unshare")() and subprocess.run(argv, check=False).returncode == 0


def _chromium() -> bool:
    from browser import program

    return program() is not None


def _index() -> bool:
    argv = [sys.executable, "-m", "pip", "--retries", "1", "index", "versions", "click"]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


def _fuzzer_library() -> list[Path]:
    """The library of clang's that drives fuzz targets; a package of its own on Debian."""
    if not _program("clang")():
        return []
    argv = ["clang", "-print-resource-dir"]
    process = subprocess.run(argv, capture_output=True, text=True, check=False)
    return list(Path(process.stdout.strip()).glob("lib/**/libclang_rt.fuzzer-*.a"))


SFTP_SERVERS = ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server")


def _sshd() -> bool:
    programs = _program("sshd")() and _program("ssh-keygen")()
    return programs and any(Path(path).exists() for path in SFTP_SERVERS)


MACHINES = ("qemu-system-x86_64", "apt-get", "dpkg-deb", "setpriv", "ip", "ethtool", "sshd")

NEEDS = {
    "linux": Need(lambda: sys.platform == "linux", "Linux", of_units=True, unpackaged=True),
    "cc": Need(
        lambda: _program("make")() and _program("gcc", "clang")(),
        "make and a C compiler: apt-get install make gcc libc6-dev",
        of_units=True,
    ),
    "sshd": Need(_sshd, "OpenSSH's server: apt-get install openssh-server"),
    "default-route": Need(
        lambda: sys.platform == "linux" and "\t00000000\t" in Path("/proc/net/route").read_text(),
        "default route",
        of_units=True,
        unpackaged=True,
    ),
    "two-cpus": Need(
        lambda: (os.cpu_count() or 1) > 1, "second CPU", of_units=True, unpackaged=True
    ),
    "root": Need(_root, "root on Linux"),
    "namespaces": Need(
        lambda: _root() and _program("ip")(),
        "network namespaces: root and iproute2",
        alone=True,
    ),
    "lab": Need(_lab, "the virtual lab: root, and what `netlab lab doctor` names", alone=True),
    "windows-hosts": Need(
        _windows_hosts, "Windows hosts in the lab: what `netlab lab doctor` names", alone=True
    ),
    "quota": Need(_quota, "control group that sets CPU quotas", unpackaged=True),
    "tun": Need(
        lambda: Path("/dev/net/tun").exists(), "interfaces of user space (TUN)", unpackaged=True
    ),
    "time-namespaces": Need(_time_namespaces, "time namespaces", unpackaged=True),
    "emulation": Need(lambda: True, "programs of other systems"),
    "x86_64": Need(lambda: os.uname().machine == "x86_64", "processor of x86_64", unpackaged=True),
    "wine": Need(
        lambda: Path("/usr/lib/wine/wine64").exists() or _program("wine64")(),
        "wine: apt-get install wine64 wine",
    ),
    "windows-python": Need(
        WINDOWS_PYTHON.exists,
        "Python for Windows: apt-get install maven gcc-mingw-w64-x86-64, then "
        ".ci/windows-python .venv/windows/python",
    ),
    "debootstrap": Need(_program("debootstrap"), "debootstrap: apt-get install debootstrap"),
    "unshare": Need(_program("unshare"), "unshare: apt-get install util-linux"),
    "installers": Need(
        lambda: _module("pipx")() and _module("uv")(), "pipx and uv: pip install '.[installers]'"
    ),
    "index": Need(_index, "the package index: what pip install asks"),
    "machines": Need(
        lambda: _root() and all(_program(name)() for name in MACHINES),
        "machines with a kernel of their own: root on Debian, and "
        "apt-get install qemu-system-x86 iproute2 ethtool openssh-server",
        alone=True,
    ),
    "qemu": Need(
        _program("qemu-aarch64-static", "qemu-aarch64"), "qemu: apt-get install qemu-user-static"
    ),
    "zig": Need(_module("ziglang"), "zig: pip install '.[cross]'"),
    "mingw": Need(
        _program("x86_64-w64-mingw32-gcc"), "mingw-w64: apt-get install gcc-mingw-w64-x86-64"
    ),
    "clang": Need(_program("clang"), "clang: apt-get install clang"),
    "libfuzzer": Need(
        lambda: bool(_fuzzer_library()),
        "libFuzzer: apt-get install clang libclang-rt-14-dev",
    ),
    "nft": Need(_program("nft"), "nft: apt-get install nftables"),
    "iperf3": Need(_program("iperf3"), "iperf3: apt-get install iperf3"),
    "sockperf": Need(_program("sockperf"), "sockperf: apt-get install sockperf"),
    "iperf2": Need(_program("iperf"), "iperf2: apt-get install iperf"),
    "nuttcp": Need(_program("nuttcp"), "nuttcp: apt-get install nuttcp"),
    "netperf": Need(
        _program("netperf"), "netperf: apt-get install netperf, of Debian's section non-free"
    ),
    "neper": Need(
        _program("tcp_rr"),
        "neper, which nobody packages: https://github.com/google/neper",
        unpackaged=True,
    ),
    "strace": Need(_program("strace"), "strace: apt-get install strace"),
    "tcpdump": Need(_program("tcpdump"), "tcpdump: apt-get install tcpdump"),
    "locales": Need(
        lambda: _program("localedef")() and Path("/usr/share/i18n/locales/tr_TR").exists(),
        "locales to make: apt-get install locales",
    ),
    "setpriv": Need(_program("setpriv"), "setpriv: apt-get install util-linux"),
    "chromium": Need(_chromium, "Chromium: apt-get install chromium-headless-shell"),
    "axe": Need(AXE.exists, "axe-core: npm install --prefix .venv/axe axe-core"),
    "pdftotext": Need(_program("pdftotext"), "pdftotext: apt-get install poppler-utils"),
    "pdflatex": Need(
        _program("pdflatex"), "pdflatex: apt-get install texlive-latex-recommended texlive-science"
    ),
    "site": Need(
        lambda: _module("material")() and _module("nbconvert")(),
        "MkDocs and its theme: pip install '.[site]'",
    ),
    "groff": Need(_program("groff"), "groff: apt-get install groff-base"),
    "openssl": Need(_program("openssl"), "openssl: apt-get install openssl"),
    "distributed": Need(_module("distributed"), "dask.distributed: pip install '.[cluster]'"),
    "ruptures": Need(_module("ruptures"), "ruptures: pip install '.[history]'"),
    "duckdb": Need(
        lambda: _module("duckdb")() and _module("pyarrow")(),
        "DuckDB and pyarrow: pip install '.[scan]'",
    ),
    "dask": Need(
        lambda: _module("dask")() and _module("pandas")() and _module("pyarrow")(),
        "dask.dataframe: pip install '.[dataframe]'",
    ),
    "pyarrow": Need(_module("pyarrow"), "pyarrow: pip install '.[parquet]'"),
}

FIXTURES = {
    "cable": ("namespaces",),
    "namespace": ("namespaces",),
    "start_in_own_network": ("namespaces",),
    "wires": ("namespaces",),
    "runner": ("emulation",),
    "every_runner": ("emulation",),
    "wine": ("emulation", "wine"),
    "four_hosts": ("lab", "windows-hosts"),
}
"""What a fixture needs of the machine, wherever it is asked for."""


@cache
def is_met(name: str) -> bool:
    """Whether this machine has it; looked for once."""
    return NEEDS[name].met()


def needs_of(item: pytest.Item) -> tuple[str, ...]:
    """The names of all that a test needs, each once."""
    need_names = [name for marker in item.iter_markers("needs") for name in marker.args]
    fixtures: Iterable[str] = getattr(item, "fixturenames", ())
    need_names += [name for fixture in fixtures for name in FIXTURES.get(fixture, ())]
    unknown = [name for name in need_names if name not in NEEDS]
    if unknown:
        raise pytest.UsageError(f"{item.nodeid} needs {unknown[0]!r}, which needs.py lacks")
    return tuple(dict.fromkeys(need_names))


def require(*names: str) -> None:
    """Skip the running test where the machine lacks one of these; fail it where CI must have it."""
    for name in names:
        need = NEEDS[name]
        if is_met(name):
            continue
        if need.unpackaged:
            pytest.skip(EXCUSED + need.what)
        if STRICT:
            pytest.fail(f"this machine must have {need.what}")
        pytest.skip(f"needs {need.what}")
