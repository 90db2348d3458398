"""Windows hosts over SSH: an sshd that answers as theirs do; with wine: test_lab_windows."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import sshd
from folders import PLAYED
from played_agents import PlayedAgents, played
from sshd import Sshd, make_key, needs_sshd, public

from netlab.experiment.hosts import Host, SshTarget
from netlab.remote import agent as probe
from netlab.remote import deploy
from netlab.remote.agent import Agent
from netlab.remote.deploy import Platform, Shell
from netlab.remote.programs import same_host
from netlab.remote.ssh import Answer, SshTransport
from netlab.runner.survey import inspect
from netlab.version import VERSION

__all__ = ["played"]

FAKE_AGENT = PLAYED / "fake_agent.py"
BINARY = b"MZ\x90\x00 no program, and it holds the build f00dcafef00dcafe"

SAID = {
    Shell.CMD: b"Windows_NT AMD64 $env:OS $env:PROCESSOR_ARCHITECTURE $OS"
    b" $PROCESSOR_ARCHITECTURE\r\n",
    Shell.POWERSHELL: b"%OS%\r\n%PROCESSOR_ARCHITECTURE%\r\nWindows_NT\r\nAMD64\r\n",
    Shell.POSIX: b"%OS% %PROCESSOR_ARCHITECTURE% :OS :PROCESSOR_ARCHITECTURE Windows_NT AMD64\n",
}

# What the sshd of Windows makes of a command, with each shell that may stand behind it; its SFTP
# gives no modes. Python's own start is part of the first one, which takes a while.
LOGIN = """\
#!{python} -IS
import os, re, sys, time

SHELL, KNOBS = {shell!r}, {knobs!r}
HAS = {{"OS": "Windows_NT", "PROCESSOR_ARCHITECTURE": "AMD64"}}
os.chdir({home!r})
command = os.environ["SSH_ORIGINAL_COMMAND"]
if command.endswith("sftp-server"):
    os.execv(command, [command, "-P", "posix-rename,setstat,fsetstat"])
if "banner" in KNOBS:
    os.write(1, b"Unauthorised use is {{forbidden}}\\r\\n")
word, *rest = command.split(" ")


def value(found):
    return HAS.get(found[1], found[0] if SHELL == "cmd.exe" else "")


if word == "echo" and SHELL == "PowerShell":
    said = [re.sub(r"\\$(?:env:)?(\\w+)", lambda m: HAS.get(m[1], "") if ":" in m[0] else "", each)
            for each in rest]
    os.write(1, "".join(each + "\\r\\n" for each in said if each).encode())
elif word == "echo":
    sign = r"%(\\w+)%" if SHELL == "cmd.exe" else r"\\$(\\w+)"
    os.write(1, (re.sub(sign, value, " ".join(rest)) + "\\r\\n").encode())
else:
    whole = "/" not in word if SHELL != "a POSIX shell" else "\\\\" not in word
    path = word.replace("\\\\", "/")
    if not whole or not os.path.isfile(path) or rest != ["agent"]:
        os.write(2, f"'{{word}}' is not recognized as an internal or external command".encode())
        sys.exit(1)
    if "slow" in KNOBS and not os.path.exists("scanned"):
        open("scanned", "w").close()
        time.sleep(0.6)
    os.environ["FAKE_VERSION"] = {version!r}
    os.execv({python!r}, [{python!r}, {agent!r}, "crlf", *(KNOBS & {{"banner"}})])
"""


def host(os_letter: str = "W", **keys: Any) -> Host:
    return Host(name="far", os=os_letter, addresses={"test": ("10.0.0.1",)}, **keys)


def answering(answers: dict[tuple[str, ...], bytes]) -> tuple[SshTransport, list[Any]]:
    """A transport to a host that answers these commands and does not know others."""
    commands: list[Any] = []

    def answer(argv: tuple[str, ...], **_: Any) -> Answer:
        commands.append(argv)
        if argv in answers:
            return Answer(answers[argv], "", 0)
        return Answer(b"", f"'{argv[0]}' is not recognized", 1)

    return cast(SshTransport, SimpleNamespace(answer=answer)), commands


@pytest.mark.parametrize("shell", list(Shell))
@pytest.mark.parametrize("banner", [b"", b"Unauthorised use of %OS% is forbidden\r\n"])
def test_windows_and_its_shell_are_recognised_by_one_answer(shell: Shell, banner: bytes) -> None:
    transport, commands = answering({deploy.ECHO: banner + SAID[shell]})
    assert deploy.ask(host(), transport) == Platform("W", "x86_64", shell)
    assert commands == [deploy.ECHO]


def test_a_windows_host_on_arm_is_recognised() -> None:
    transport, _ = answering({deploy.ECHO: SAID[Shell.CMD].replace(b"AMD64", b"ARM64", 1)})
    assert deploy.ask(host(), transport) == Platform("W", "aarch64", Shell.CMD)


def test_the_operating_system_of_a_host_is_recognised_although_the_inventory_is_wrong() -> None:
    posix = SAID[Shell.POSIX].replace(b"Windows_NT AMD64", b"")
    transport, commands = answering({deploy.ECHO: posix, deploy.UNAME: b"Linux x86_64\n"})
    assert deploy.ask(host(), transport) == Platform("L", "x86_64")
    assert commands == [deploy.ECHO, deploy.UNAME]
    transport, commands = answering({deploy.ECHO: SAID[Shell.CMD]})
    assert deploy.ask(host("L"), transport).os == "W"
    assert commands == [deploy.UNAME, deploy.ECHO]


def test_programs_of_git_on_windows_are_not_taken_for_a_posix_shell() -> None:
    uname = b"MINGW64_NT-10.0-19045 x86_64\n"
    transport, _ = answering({deploy.ECHO: SAID[Shell.CMD], deploy.UNAME: uname})
    assert deploy.ask(host("L"), transport) == Platform("W", "x86_64", Shell.CMD)


@pytest.mark.parametrize(
    ("home", "words"),
    [
        (
            "/C:/Users/lab",
            [r".cache\netlab\netprobe-0.exe", r"C:\Users\lab\.cache\netlab\netprobe-0.exe"],
        ),
        ("/C:/Users/John Smith", [r".cache\netlab\netprobe-0.exe"]),
        ("/C:/Users/M&M", [r".cache\netlab\netprobe-0.exe"]),
        ("/home/lab", [r".cache\netlab\netprobe-0.exe"]),
    ],
)
def test_the_command_that_starts_a_windows_probe_needs_no_quotes(
    monkeypatch: pytest.MonkeyPatch, home: str, words: list[str]
) -> None:
    monkeypatch.setattr(deploy, "_put", lambda *_, **__: None)
    sftp = SimpleNamespace(whole_path=lambda _path: home)
    transport = cast(
        Any,
        SimpleNamespace(
            sftp=lambda: contextlib.nullcontext(sftp),
            deadline=lambda *_: contextlib.nullcontext(),
        ),
    )
    places = list(deploy._windows_places(transport, Shell.CMD, "netprobe-0.exe", b"", []))
    assert [place.argv for place in places] == [(word, "agent") for word in words]


@pytest.fixture
def windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Sshd]]:
    """Starts a server whose login behaves like a Windows host."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    binary = tmp_path / "netprobe.exe"
    binary.write_bytes(BINARY)
    monkeypatch.setattr(deploy, "probe_for", lambda *_: binary)
    key = make_key(tmp_path / "key")
    servers: list[Sshd] = []

    def make(shell: Shell, *knobs: str) -> Sshd:
        server = Sshd(tmp_path / f"server{len(servers)}", key)
        (server.folder / "login").write_text(
            LOGIN.format(
                python=sys.executable,
                shell=str(shell),
                knobs=set(knobs),
                home=str(server.home),
                version=VERSION,
                agent=str(FAKE_AGENT),
            )
        )
        servers.append(server)
        return server.start()

    yield make
    for server in servers:
        server.stop()


def reached(server: Sshd) -> Host:
    return host(
        ssh=SshTarget("127.0.0.1", sshd.USER, server.port),
        host_key=public(server.key()),
        identity=str(server.authorized),
    )


@needs_sshd
@pytest.mark.parametrize("shell", list(Shell))
def test_the_probe_starts_under_each_shell_of_windows_despite_a_banner(
    windows: Callable[..., Sshd], shell: Shell
) -> None:
    server = windows(shell, "banner")
    agent = Agent.open(reached(server))
    try:
        assert agent.ask("clock")["type"] == "clock"
        assert agent.skipped_lines >= 2
        assert agent.probe_path.endswith(".exe")
    finally:
        agent.close()
    (file,) = (server.home / ".cache" / "netlab").iterdir()
    assert file.read_bytes() == BINARY
    assert file.suffix == ".exe"


@needs_sshd
def test_an_installed_windows_probe_is_used_again_and_a_damaged_one_is_replaced(
    windows: Callable[..., Sshd],
) -> None:
    server = windows(Shell.CMD)
    Agent.open(reached(server)).close()
    (file,) = (server.home / ".cache" / "netlab").iterdir()
    stamps = file.stat().st_mtime_ns, file.stat().st_ino
    Agent.open(reached(server)).close()
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == stamps
    file.write_bytes(b"cut")
    Agent.open(reached(server)).close()
    assert [path.read_bytes() for path in file.parent.iterdir()] == [BINARY]


@needs_sshd
def test_netlab_waits_for_a_slow_first_start_of_a_windows_probe_and_reports_the_wait(
    windows: Callable[..., Sshd], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = windows(Shell.POWERSHELL, "slow")
    monkeypatch.setattr(probe, "SAY_S", 0.1)
    messages: list[str] = []
    Agent.open(reached(server), messages.append).close()
    assert messages == [
        "far: its probe does not answer yet; a first start may have to wait for a virus "
        "scanner, 60 s at most"
    ]
    monkeypatch.undo()
    monkeypatch.setattr(probe, "SAY_S", 60.0)
    monkeypatch.setattr(deploy, "probe_for", lambda *_: server.folder.parent / "netprobe.exe")
    Agent.open(reached(server), messages.append).close()
    assert len(messages) == 1


def test_netlab_hosts_shows_power_plan_and_timer_resolution_of_a_windows_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = {
        "type": "facts",
        "distribution": "Windows 11 Pro 23H2",
        "power_plan": "Balanced",
        "timer_resolution_ns": 15_625_000,
        "network_throttling_index": 10,
        "addresses": "Ethernet=10.0.0.1/24",
        "interface_speed_bit_per_s": 1_000_000_000,
        "interface_mtu_bytes": 1500,
        "route_interface": "Ethernet",
    }
    hello = {"os": "windows", "os_release": "10.0.22631", "cpu_count": 8}
    agent = SimpleNamespace(
        host=host(ssh=SshTarget("far")),
        hello=hello,
        skipped_lines=0,
        facts=lambda to=None: facts,
        close=lambda: None,
    )
    monkeypatch.setattr(Agent, "open", lambda _host, _say, **_: agent)
    inspection = inspect(agent.host)
    assert inspection.unfit == ()
    lines = dict(inspection.lines)
    assert lines["system"] == "Windows 11 Pro 23H2"
    assert lines["kernel"] == "10.0.22631"
    assert lines["power plan"] == "Balanced"
    assert lines["timer resolution"] == "15.6 ms"
    assert lines["network throttling"] == "10 packets a millisecond while sound plays"
    assert lines["address test, IPv4"] == "10.0.0.1, Ethernet, 1 Gbit/s, MTU 1500"
    assert "congestion control" not in lines


@pytest.mark.agents
@pytest.mark.parametrize(("names", "same"), [(("A", "B"), False), (("A", "A"), True)])
def test_two_windows_hosts_cloned_from_one_disk_are_one_host_only_if_their_names_are_equal(
    played: PlayedAgents, names: tuple[str, str], same: bool
) -> None:
    agents = [played.greeted("no-network", os="W", hostname=name) for name in names]
    assert same_host(*agents) is same
