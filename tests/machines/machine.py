"""Machines with a kernel of their own: qemu runs them, tests command them.

A machine has a console (its output is a file), a serial port for commands, one card for logins
(forwarded from loopback) and the cards that a test connects. It dies with the process that started
it, and at its deadline.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import fcntl
import os
import secrets
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from machine_image import Image, Release, cache_folder, cpio, image
from ports import own_port
from sshd import make_key, public

QEMU = "qemu-system-x86_64"
KVM = Path("/dev/kvm")
KVM_S = 20.0
"""How long a kernel may take under KVM until it misses its root."""
BOOT_S = 120.0
"""A kernel takes 7 s under emulation on a machine at rest."""
DEADLINE_S = 1200.0
MEMORY_MB = 256
NEW_NETWORK = 0x40000000
"""CLONE_NEWNET of setns(2)."""
TUNSETIFF, TAP_WITHOUT_HEADER = 0x400454CA, 0x1002
"""Of linux/if_tun.h; IFF_TAP and IFF_NO_PI."""
KERNEL_WORDS = "console=ttyS0 quiet panic=-1 random.trust_cpu=on tsc=unstable clocksource=hpet"
"""The clock is qemu's own, not a CPU's counter that the kernel must calibrate under emulation."""
CARD_SPEED_MBIT = 1000


@contextlib.contextmanager
def inside(namespace: str) -> Iterator[None]:
    """This thread, and what it starts, in a network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(descriptor: int) -> None:
        if libc.setns(descriptor, NEW_NETWORK) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")

    with Path("/proc/thread-self/ns/net").open() as own, Path("/run/netns", namespace).open() as it:
        enter(it.fileno())
        try:
            yield
        finally:
            enter(own.fileno())


@dataclass(frozen=True)
class Card:
    """A network card of a machine, and what it is connected to."""

    backend: str
    """Kind and options of qemu's ``-netdev``."""
    descriptor: int | None = None
    """A file that qemu must inherit."""
    model: str = "virtio-net-pci"


@contextlib.contextmanager
def tap(namespace: str, device: str, model: str = "virtio-net-pci") -> Iterator[Card]:
    """A card whose cable ends in a namespace, as an Ethernet interface without offloads."""
    with inside(namespace):
        descriptor = os.open("/dev/net/tun", os.O_RDWR)
    try:
        name = device.encode()
        fcntl.ioctl(descriptor, TUNSETIFF, struct.pack("16sH22x", name, TAP_WITHOUT_HEADER))
        yield Card(f"tap,fd={descriptor}", descriptor, model)
    finally:
        os.close(descriptor)


def cable(folder: Path, model: str = "virtio-net-pci") -> tuple[Card, Card]:
    """Two cards with a cable between them: a pair of Unix sockets."""
    ends = [folder / "cable-a", folder / "cable-b"]
    first, second = (
        f"dgram,local.type=unix,local.path={own},remote.type=unix,remote.path={other}"
        for own, other in (ends, ends[::-1])
    )
    return Card(first, model=model), Card(second, model=model)


def accelerator() -> str:
    """``kvm`` where a kernel starts under it within a deadline, ``tcg`` elsewhere; tried once a
    boot of this machine.
    """
    if not os.access(KVM, os.R_OK | os.W_OK):
        return "tcg"
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    known = cache_folder() / f"accelerator-{boot}"
    if not known.exists():
        words = ["-accel", "kvm", "-cpu", "host", "-nodefaults", "-display", "none", "-no-reboot"]
        kernel = ["-kernel", str(image().kernel), "-append", "console=ttyS0 panic=-1"]
        said = b""
        with contextlib.suppress(subprocess.TimeoutExpired):
            argv = [QEMU, *words, *kernel, "-serial", "stdio"]
            said = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=KVM_S, check=False
            ).stdout
        known.write_text("kvm" if b"Unable to mount root" in said else "tcg")
    return known.read_text()


@dataclass
class Machine:
    """``start`` it, ``run`` commands, ``reboot`` it, ``stop`` it; or ``with Machine(…)``."""

    name: str
    key: Path
    """Private key with which root may log in."""
    cards: Sequence[Card] = ()
    """Its interfaces eth1, eth2, … in this order, if all are of one model."""
    commands: Sequence[str] = ()
    """What it does at every start, before anybody can log in."""
    release: Release = "today"
    namespace: str | None = None
    """Where its port for logins is, on loopback."""
    deadline_s: float = DEADLINE_S
    port: int = field(default_factory=own_port)
    process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Machine:
        # Short: the path of a Unix socket has at most 107 bytes.
        self.folder = Path(tempfile.mkdtemp(prefix="netlab-machine-"))
        self._host_key = make_key(self.folder / "host_key")
        self._identity = secrets.token_hex(16)
        try:
            return self.start()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self.folder)

    @property
    def host_key(self) -> str:
        """As an inventory pins it."""
        return public(self._host_key)

    @property
    def console(self) -> str:
        """What the kernel has said."""
        file = self.folder / "console"
        return file.read_text(errors="replace") if file.exists() else ""

    def start(self) -> Machine:
        booted = image(self.release)
        initrd = self.folder / "initrd"
        parts = [archive.read_bytes() for archive in booted.archives]
        initrd.write_bytes(b"".join([*parts, cpio(self._own_files())]))
        within = ["ip", "netns", "exec", self.namespace] if self.namespace else []
        died_with = ["setpriv", "--pdeathsig", "KILL"]
        descriptors = [card.descriptor for card in self.cards if card.descriptor is not None]
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [*within, *died_with, *self._argv(booted, initrd)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=descriptors,
            )
        self._deadline = threading.Timer(self.deadline_s, self.process.kill)
        self._deadline.daemon = True
        self._deadline.start()
        self._commands = self._connected()
        self.run("true", timeout_s=BOOT_S)
        if failed := self.run("cat /run/set-up"):
            raise AssertionError(f"{self.name}: {failed}")
        return self

    def stop(self) -> None:
        """Off at once, as by a power failure."""
        if self.process is not None:
            self._deadline.cancel()
            self.process.kill()
            self.process.wait()
            self.process = None
        if hasattr(self, "_commands"):
            self._commands.close()

    def reboot(self, release: Release | None = None) -> None:
        """Off and on again, with another kernel if one is named."""
        self.stop()
        self.release = release or self.release
        self.start()

    def run(self, command: str, *, timeout_s: float = 60.0, check: bool = True) -> str:
        """Output of a shell command in the machine, which must succeed."""
        self._commands.settimeout(1.0)
        self._commands.sendall(base64.b64encode(command.encode()) + b"\n")
        answer = self._answer(command, time.monotonic() + timeout_s)
        code, _, output = answer.partition(" ")
        text = base64.b64decode(output).decode(errors="replace").strip()
        if check and code != "0":
            raise AssertionError(f"{self.name}: {command!r} ended with {code}: {text}")
        return text

    def set_clock(self, step_s: int) -> None:
        """Set its clock forward, or back."""
        self.run(f"date --set='{step_s} seconds'")

    def drift(self, ppm: int) -> None:
        """Let its clock run fast (slow: a negative number), as time synchronisation does: the rate
        of CLOCK_MONOTONIC_RAW stays. At most 100,000 ppm.
        """
        ticks, rest = divmod(ppm, 100)
        self.run(f"adjtimex -t {10_000 + ticks} -f {rest * 65_536}")

    def _answer(self, command: str, give_up_s: float) -> str:
        data = b""
        while not data.endswith(b"\n"):
            assert self.process is not None
            try:
                more = self._commands.recv(65_536)
            except TimeoutError:
                more = None
            if more:
                data += more
            elif more == b"" or self.process.poll() is not None or time.monotonic() > give_up_s:
                log = (self.folder / "log").read_text(errors="replace")
                last_words = f"{log[-500:]}\n{self.console[-1500:]}"
                raise AssertionError(f"{self.name}: no answer to {command!r}:\n{last_words}")
        return data.decode()

    def _connected(self) -> socket.socket:
        """The other end of its serial port, once qemu has made it."""
        give_up_s = time.monotonic() + BOOT_S
        while True:
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(self.folder / "commands"))
            except OSError:
                connection.close()
                assert self.process is not None
                if self.process.poll() is not None or time.monotonic() > give_up_s:
                    log = (self.folder / "log").read_text(errors="replace")
                    raise AssertionError(f"{self.name} did not start: {log}") from None
                time.sleep(0.02)
            else:
                return connection

    def _own_files(self) -> Mapping[str, bytes]:
        return {
            "etc/hostname": f"{self.name}\n".encode(),
            "etc/machine-id": f"{self._identity}\n".encode(),
            "etc/set-up": "".join(f"{command}\n" for command in self.commands).encode(),
            "etc/ssh/host_key": self._host_key.read_bytes(),
            "root/.ssh/authorized_keys": f"{public(self.key)}\n".encode(),
        }

    def _argv(self, booted: Image, initrd: Path) -> list[str]:
        by = accelerator()
        forward = f"hostfwd=tcp:127.0.0.1:{self.port}-10.0.2.15:22"
        words = [QEMU, "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"]
        words += ["-accel", by, "-cpu", "host" if by == "kvm" else "qemu64,+rdrand", "-smp", "1"]
        words += ["-m", str(MEMORY_MB), "-rtc", "base=utc", "-append", KERNEL_WORDS]
        words += ["-kernel", str(booted.kernel), "-initrd", str(initrd)]
        words += ["-serial", f"file:{self.folder / 'console'}"]
        words += ["-chardev", f"socket,id=commands,path={self.folder}/commands,server=on,wait=off"]
        words += ["-device", "virtio-serial-pci", "-device", "virtserialport,chardev=commands"]
        words += ["-netdev", f"user,id=logins,restrict=on,ipv6=off,{forward}"]
        words += ["-device", "virtio-net-pci,netdev=logins,romfile="]
        for number, card in enumerate(self.cards, 1):
            # Locally administered; the second half differs between machines.
            address = f"52:54:00:{self.port >> 8:02x}:{self.port & 255:02x}:{number:02x}"
            device = f"{card.model},netdev=card{number},mac={address},romfile="
            if card.model.startswith("virtio"):
                device += f",speed={CARD_SPEED_MBIT},duplex=full"
            words += ["-netdev", f"{card.backend},id=card{number}", "-device", device]
        return words
