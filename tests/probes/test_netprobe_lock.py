"""The lock of a host: who may hold it, and what a holder can make others believe or see."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from folders import PROBES
from netprobe_agents import Agent, netprobe
from runners import script

__all__ = ["netprobe"]

pytestmark = [pytest.mark.lab, pytest.mark.needs("root", "unshare")]


@pytest.fixture
def elsewhere(netprobe: Path, tmp_path: Path) -> Iterator[Path]:
    """The probe in a network of its own, where nobody else can hold the lock."""
    name = f"netlab-lock-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    yield script(tmp_path / "netprobe", "ip", "netns", "exec", name, str(netprobe))
    subprocess.run(["ip", "netns", "delete", name], check=True)


def test_only_one_agent_of_a_host_holds_its_lock(elsewhere: Path) -> None:
    with Agent(elsewhere) as first, Agent(elsewhere) as second:
        assert first.ask("lock", owner="first%20one")["type"] == "lock"
        refused = second.ask("lock", owner="second")
        assert (refused["error"], refused["detail"]) == ("locked", "first one")
        assert first.ask("unlock")["type"] == "unlock"
        assert second.ask("lock", owner="second")["type"] == "lock"


HELD = "until grep -q '00010000 .*@netlab/host' /proc/net/unix; do sleep 0.01; done"
"""Until somebody listens at the name that is the lock (proc_net(5))."""


def refusal(script: str) -> dict[str, str]:
    """What an agent is told that asks for the lock after a script, in a network of its own."""
    process = subprocess.run(
        ["unshare", "--net", "bash", "-c", script], capture_output=True, check=True, text=True
    )
    record: dict[str, str] = json.loads(process.stdout.splitlines()[-1])
    assert record["error"] == "locked", record
    return record


@pytest.mark.needs("setpriv")
def test_a_refused_lock_names_the_account_of_its_holder(netprobe: Path) -> None:
    """Beside what its holder says, who may say that he is somebody else."""
    script = f"""
        (echo '1 lock owner=root%20himself'; sleep 3) |
            setpriv --reuid 31999 --regid 31999 --clear-groups {netprobe} agent >/dev/null &
        {HELD}
        echo '1 lock owner=second' | {netprobe} agent
        kill %1
    """
    assert refusal(script)["detail"] == "root himself (user 31999)"


IMPOSTOR = """
import socket, sys
with socket.socket(socket.AF_UNIX) as name:
    name.bind(chr(0) + "netlab/host")
    name.listen()
    asker, _ = name.accept()
    asker.send(bytes.fromhex(sys.argv[1]))
    asker.recv(1)
"""


@pytest.mark.parametrize(
    ("says", "detail"),
    [
        (b"\x1b[2Jhello\a\r\x7f", "?[2Jhello???"),
        (b"a\xc2\x9b31mb", "a??31mb"),
        (b"one\xe2\x80\xaeowt\xe2\x81\xa6", "one???owt???"),
        ("für Zoë".encode(), "für Zoë"),
        (b"two\nlines", "two"),
        (b"", ""),
        (b"endless " * 5000, "endless " * 22),
    ],
)
def test_the_text_of_a_lock_holder_is_cut_to_one_line_without_control_characters(
    netprobe: Path, tmp_path: Path, says: bytes, detail: str
) -> None:
    (tmp_path / "impostor.py").write_text(IMPOSTOR)
    script = f"""
        {sys.executable} {tmp_path}/impostor.py {says.hex()} &
        {HELD}
        echo '1 lock owner=second' | timeout 60 {netprobe} agent
    """
    assert refusal(script).get("detail", "") == detail


def test_an_agent_does_not_wait_for_a_silent_holder_of_the_lock(
    netprobe: Path, tmp_path: Path
) -> None:
    silent = IMPOSTOR.replace("asker, _ = name.accept()", "import time; time.sleep(60); sys.exit()")
    (tmp_path / "impostor.py").write_text(silent)
    script = f"""
        {sys.executable} {tmp_path}/impostor.py 00 &
        {HELD}
        echo '1 lock owner=second' | timeout 30 {netprobe} agent
        kill %1
    """
    assert "detail" not in refusal(script)


# ---- macOS and FreeBSD, whose lock is a file: its source, compiled and run here ----

PLACE = Path("/tmp/netlab-host.lock")  # noqa: S108 - the name is what is tested
DRIVER = """
#include <stdio.h>
#include "platform/plat.h"
int main(int count, char **words)
{
    char holder[200] = "";
    int error = count > 1 ? plat_lock_take(words[1], holder, sizeof holder) : 0;
    printf("%d %s\\n", error, holder);
    fflush(stdout);
    if (count > 2)
        getchar();
    if (count > 3)
        plat_lock_release();
    return 0;
}
"""


@pytest.fixture(scope="module")
def file_lock() -> Iterator[Path]:
    """``file_lock OWNER [wait [release]]`` takes that lock and says what came of it."""
    folder = Path(tempfile.mkdtemp(dir="/var/tmp", prefix="netlab-lock-"))
    (folder / "driver.c").write_text(DRIVER)
    words = ["gcc", "-Wall", "-Werror", f"-I{PROBES}/src", "-o", str(folder / "lock")]
    source = PROBES / "src/platform/bsd/lock.c"
    subprocess.run([*words, str(folder / "driver.c"), str(source)], check=True)
    folder.chmod(0o755)
    yield folder / "lock"
    shutil.rmtree(folder)


SAID = "until [ -s said ]; do sleep 0.01; done; cat said"
"""Until the lock in the background is taken, and what it said."""


def in_own_tmp(file_lock: Path, script: str) -> list[str]:
    """A script of `LOCK`s in a /tmp of its own; the lines that it says."""
    script = "mount -t tmpfs -o mode=1777 none /tmp; cd /tmp; " + script.replace(
        "OTHER", "setpriv --reuid 31999 --regid 31999 --clear-groups"
    ).replace("LOCK", str(file_lock)).replace("FILE", str(PLACE))
    process = subprocess.run(
        ["unshare", "--mount", "bash", "-c", script],
        capture_output=True, check=True, text=True, timeout=60,
    )  # fmt: skip
    return process.stdout.splitlines()


def test_a_lock_file_is_taken_once_and_names_its_holder(file_lock: Path) -> None:
    lines = in_own_tmp(
        file_lock,
        f"(sleep 3 | LOCK 'the first one' wait release) >said & {SAID};"
        "LOCK second; wait; LOCK third",
    )
    assert lines == ["0 ", "-2 the first one", "0 "]


def test_two_accounts_exclude_each_other_by_one_lock_file(file_lock: Path) -> None:
    lines = in_own_tmp(
        file_lock,
        "OTHER LOCK theirs; stat -c '%a %u' FILE; cat FILE;"
        f"(sleep 3 | LOCK ours wait) >said & {SAID};"
        "OTHER LOCK again; wait; cat FILE; stat -c '%a %u' FILE",
    )
    pid = lines[3]
    assert lines == ["0 ", "666 31999", "theirs", pid, "0 ", "-2 another user", "theirs", pid,
                     "666 31999"]  # fmt: skip


@pytest.mark.parametrize(
    "command", ["ln -s /tmp/own FILE", "ln /tmp/own FILE", "mkfifo FILE", "mkdir FILE"]
)
def test_a_file_in_the_place_of_the_lock_file_stays_unchanged(
    file_lock: Path, command: str
) -> None:
    """Not truncated, not opened up, not waited for."""
    lines = in_own_tmp(
        file_lock,
        f"echo precious >own; chmod 600 own; {command}; LOCK ours; cat own; stat -c '%a' own",
    )
    assert lines[0].split()[0] not in ("0", "-2")
    assert lines[1:] == ["precious", "600"]
