"""The answers of a host about its system, and the probe for it; files: test_agent_sshd."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from netlab.errors import HostError
from netlab.experiment.hosts import Host
from netlab.remote import deploy
from netlab.remote.deploy import Platform
from netlab.remote.ssh import Answer, SshTransport


def host(os: str = "L") -> Host:
    return Host(name="far", os=os, addresses={"test": ("10.0.0.1",)})


def answering(output: bytes, stderr: str = "") -> tuple[SshTransport, list[tuple[str, ...]]]:
    """A transport to a host on which every command prints the same."""
    commands: list[tuple[str, ...]] = []

    def answer(argv: tuple[str, ...], **_: Any) -> Answer:
        commands.append(argv)
        return Answer(output, stderr, 0)

    return cast(SshTransport, SimpleNamespace(answer=answer)), commands


@pytest.mark.parametrize(
    ("output", "platform"),
    [
        (b"Linux x86_64\n", Platform("L", "x86_64")),
        (b"Linux aarch64\r\n", Platform("L", "aarch64")),
        (b"Darwin arm64\n", Platform("M", "aarch64")),
        (b"FreeBSD amd64\n", Platform("F", "x86_64")),
        (b"Linux is great\r\n\x1b[1m$ \xffLinux x86_64\n", Platform("L", "x86_64")),
        (b"Welcome to Debian GNU/Linux 12\nLinux x86_64\nbye\n", Platform("L", "x86_64")),
        (b"Welcome to GNU/Linux trixie\nLinux aarch64\nthis was Linux\n", Platform("L", "aarch64")),
    ],
)
def test_the_system_of_a_host_is_recognised_by_its_answer_to_uname(
    output: bytes, platform: Platform
) -> None:
    transport, commands = answering(output)
    assert deploy.ask(host(), transport) == platform
    assert commands == [deploy.UNAME]


@pytest.mark.parametrize(
    ("output", "stderr", "quote"),
    [
        (b"", "", "printed nothing"),
        (b"", "'uname' is not recognized as an internal or external command", "not recognized"),
        (b"This account is currently not available.\n", "", "not available"),
        (b"MINGW64_NT-10.0 x86_64\n", "", "MINGW64_NT"),
    ],
)
def test_an_unknown_system_is_refused_with_a_quote_of_its_answer(
    output: bytes, stderr: str, quote: str
) -> None:
    transport, _ = answering(output, stderr)
    with pytest.raises(HostError, match=r"^far: unknown system") as raised:
        deploy.ask(host(), transport)
    assert quote in str(raised.value)


def test_a_host_of_a_system_without_a_probe_is_refused() -> None:
    with pytest.raises(HostError, match=r"^far: there is no probe for .*riscv64.*, only for"):
        deploy._probe_for(host(), Platform("L", "riscv64"), None)
    with pytest.raises(HostError, match=r"^far runs FreeBSD, and the inventory says `os: L`"):
        deploy._probe_for(host(), Platform("F", "x86_64"), None)
