"""The probe is built where the kernel's headers are old, and asks a newer kernel all the same.

The headers are this system's, in a copy in which each name has another one that Linux 3.10 did not
have, and which says that it is 3.10 (CentOS 7).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from folders import PROBES
from netprobe_agents import Agent, netprobe, trial
from round_trip_peers import done

__all__ = ["netprobe"]

pytestmark = pytest.mark.needs("cc", "linux")

HEADERS = Path("/usr/include")
NEWER = (PROBES / "src" / "platform" / "linux" / "newer.h").read_text("utf-8")
FIELDS = re.findall(r"\btcpi_\w+(?= : 1|[,;])", NEWER)
"""Of struct tcp_info; the bit field is the first of those that 3.10 did not have."""
COPIED = {
    "linux/tcp.h": [
        *FIELDS[FIELDS.index("tcpi_total_retrans") + 1 :],
        "tcpi_delivery_rate_app_limited",
    ],
    "linux/errqueue.h": ["scm_timestamping", "SCM_TSTAMP_SND"],
    "linux/ethtool.h": ["ethtool_link_settings", "ETHTOOL_GLINKSETTINGS"],
    "linux/if_link.h": ["IFLA_CARRIER_CHANGES"],
    "linux/net_tstamp.h": ["SOF_TIMESTAMPING_OPT_ID", "SOF_TIMESTAMPING_OPT_TSONLY"],
    "linux/sock_diag.h": ["SK_MEMINFO_DROPS"],
    "linux/sockios.h": ["SIOCGHWTSTAMP"],
    "asm-generic/socket.h": ["SO_MEMINFO"],
}
"""Header → the names in it that 3.10 did not have."""
VERSION = """\
#define LINUX_VERSION_CODE 199168
#define KERNEL_VERSION(a,b,c) (((a) << 16) + ((b) << 8) + ((c) > 255 ? 255 : (c)))
"""


@pytest.fixture(scope="module")
def old_headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("headers")
    for name, words in COPIED.items():
        text = (HEADERS / name).read_text("utf-8")
        for word in words:
            text, count = re.subn(rf"\b{word}\b", f"hidden_{word}", text)
            assert count, f"{name} of this system has no {word}"
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    (folder / "linux" / "version.h").write_text(VERSION)
    return folder


def built(folder: Path, *words: str) -> Path:
    """The probe, built in that folder with further words for make."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    out = folder / "netprobe"
    argv = ["make", "-s", "-C", str(PROBES), f"BUILD={folder}", f"OUT={out}", *words, "all"]
    process = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    return out


@pytest.fixture(scope="module")
def old_probe(old_headers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The probe as a system with these headers builds it."""
    return built(tmp_path_factory.mktemp("old"), f"CFLAGS=-O1 -isystem {old_headers}")


def test_the_copied_headers_lack_each_name_that_linux_3_10_lacks(old_headers: Path) -> None:
    for name, words in COPIED.items():
        of = "" if name != "linux/tcp.h" else "((struct tcp_info *)0)->"
        kinds = [
            f"sizeof(struct {word})" if word.islower() and not of else of + word for word in words
        ]
        program = f"#include <sys/socket.h>\n#include <time.h>\n#include <{name}>\n"
        head = len(program.splitlines()) + 1
        program += "".join(
            f"unsigned long f{number}(void) {{ return {kind}; }}\n"
            for number, kind in enumerate(kinds)
        )
        assert compiled(program).returncode == 0, name
        complaints = compiled(program, "-w", "-fmax-errors=0", f"-isystem{old_headers}").stderr
        lines = {int(line) for line in re.findall(r"^<stdin>:(\d+):\d+: error", complaints, re.M)}
        assert lines == set(range(head, head + len(words))), name


def compiled(program: str, *flags: str) -> subprocess.CompletedProcess[str]:
    argv = ["cc", "-std=c11", "-D_GNU_SOURCE", *flags, "-fsyntax-only", "-x", "c", "-"]
    return subprocess.run(argv, input=program, capture_output=True, text=True, check=False)


def keys_of(probe: Path) -> dict[str, set[str]]:
    """What its agents tell of their host, of TCP, of a socket's queue and of the stack's stamps."""
    with Agent(probe) as receiver, Agent(probe) as sender:
        agents = receiver, sender
        facts = receiver.ask("facts", to="127.0.0.1")
        tcp = trial(agents, proto="tcp", seconds=0.5)
        udp = trial(agents, proto="udp", count=30, message_rate=300)
        round_trip = done(agents, proto="udp", count=30, message=64, mirror={"stamps": 1})
        capabilities = receiver.ask("hello")["capabilities"]
    return {
        "capabilities": set(capabilities.split(",")),
        "facts": set(facts),
        "TCP sent": {key for key in tcp.sent if key.startswith("tcp_")},
        "TCP received": {key for key in tcp.received if key.startswith("tcp_")},
        "queue": {key for key in udp.received if "queue" in key},
        "stamps": {key for key in round_trip.mirrored if "stamp" in key or "stack" in key},
    }


@pytest.mark.lab
def test_a_probe_built_with_old_headers_reports_the_same_keys(
    old_probe: Path, netprobe: Path
) -> None:
    new = keys_of(netprobe)
    assert keys_of(old_probe) == new
    assert {"tcp_end_snd_wnd", "tcp_end_delivery_rate_app_limited"} <= new["TCP sent"]
    assert {"stamps", "queue-drops"} <= new["capabilities"]
    assert all(new.values())


@pytest.mark.night
@pytest.mark.needs("zig", "x86_64")
@pytest.mark.parametrize("library", ["2.17", "2.27"], ids=["CentOS-7", "Ubuntu-18.04"])
def test_the_probe_builds_with_an_old_c_library_and_needs_no_newer_symbol(
    library: str, old_headers: Path, tmp_path: Path
) -> None:
    compiler = f"{sys.executable} -m ziglang cc -target x86_64-linux-gnu.{library}"
    flags = f"CFLAGS=-O1 -isystem {old_headers}"
    probe = built(tmp_path, f"CC={compiler}", flags, "LINK=dynamic")
    versions = re.findall(rb"GLIBC_(\d+)\.(\d+)", probe.read_bytes())
    most = max((int(major), int(minor)) for major, minor in versions)
    assert most <= tuple(map(int, library.split("."))), "it would not start there"


# ---- the names' meanings -------------------------------------------------------------------------


def here(program: str, *includes: str) -> Sequence[str]:
    """What the compiler has against a program, with this system's own headers."""
    text = "".join(f"#include <{name}>\n" for name in ("stddef.h", "sys/socket.h", "time.h"))
    text += "".join(f"#include {name}\n" for name in includes)
    return compiled(text + program, f"-I{PROBES / 'src'}").stderr.splitlines()


def test_constants_of_newer_h_equal_those_of_the_system_headers() -> None:
    values = dict(re.findall(r"^#define ([A-Z]\w+) (\(.+\)|0x\w+|\d+)$", NEWER, re.MULTILINE))
    of_processors = values.pop("SO_MEMINFO")
    assert of_processors == "55"
    assert values.pop("SK_MEMINFO_VARS") == "9", "as many as it had when DROPS came"
    assert len(values) == 12
    includes = [f"<{name}>" for name in (*COPIED, "linux/if_xdp.h")]
    for name, value in values.items():
        their_name = name.removeprefix("NEWER_")
        assert not here(f'_Static_assert({their_name} == {value}, "");\n', *includes), name
    assert here('_Static_assert(SK_MEMINFO_DROPS == 7, "");\n', *includes), "the check can fail"


def test_fields_of_newer_tcp_info_have_the_offsets_of_the_system_headers() -> None:
    offsets = [
        f"_Static_assert(offsetof(struct newer_tcp_info, {name}) == "
        f'offsetof(struct tcp_info, {name}), "{name}");\n'
        for name in FIELDS
        if not name.endswith(("_wscale", "_limited", "client_fail")) or "rwnd" in name
    ]
    assert len(offsets) > 40
    includes = ("<linux/tcp.h>", '"platform/linux/newer.h"')
    assert not here("".join(offsets), *includes)
