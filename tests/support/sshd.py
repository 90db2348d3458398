"""Real OpenSSH servers for a test: on loopback, a high port, with keys and homes of their own."""

from __future__ import annotations

import contextlib
import os
import pwd
import shlex
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from needs import SFTP_SERVERS, SYSTEM_PATH
from ports import own_port

from netlab.experiment.hosts import Host, SshTarget
from netlab.remote import deploy
from netlab.remote.agent import connect

SSHD = shutil.which("sshd", path=SYSTEM_PATH)
KEYGEN = shutil.which("ssh-keygen", path=SYSTEM_PATH)
SFTP_SERVER = next((path for path in SFTP_SERVERS if Path(path).exists()), None)
USER = pwd.getpwuid(os.geteuid()).pw_name
READY_S = 60.0

needs_sshd = pytest.mark.needs("sshd")

# Every command goes through this, as through a login shell whose home is the test's. Words are
# split as any shell would, and nothing is quoted. Only commands see the noise, as with
# internal-sftp.
LOGIN = """\
#!/bin/sh
HOME='{home}'; export HOME; cd "$HOME"
case "$SSH_ORIGINAL_COMMAND" in */sftp-server*) ;; *) [ ! -f .noise ] || cat .noise ;; esac
exec $SSH_ORIGINAL_COMMAND
"""


def make_key(path: Path, kind: str = "ed25519", passphrase: str = "") -> Path:
    """A key pair; RSA with 2048 bits."""
    assert KEYGEN is not None
    size = ["-b", "2048"] if kind == "rsa" else []
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [KEYGEN, "-q", "-t", kind, *size, "-N", passphrase, "-C", "test", "-f", str(path)],
        check=True,
    )
    return path


def public(path: Path) -> str:
    """Type and key of the public half."""
    return " ".join(path.with_name(path.name + ".pub").read_text().split()[:2])


def fingerprint(path: Path) -> str:
    """``SHA256:…`` as ssh-keygen says it."""
    assert KEYGEN is not None
    process = subprocess.run(
        [KEYGEN, "-l", "-f", f"{path}.pub"], check=True, capture_output=True, text=True
    )
    return process.stdout.split()[1]


@dataclass
class Sshd:
    """One server; ``start`` it, change ``options`` and start it again, ``stop`` it."""

    folder: Path
    authorized: Path
    """Private key whose public half may log in."""
    options: list[str] = field(default_factory=list)
    kinds: Sequence[str] = ("ed25519",)
    port: int = field(default_factory=own_port)
    process: subprocess.Popen[bytes] | None = None
    within: Sequence[str] = ()
    """A command that becomes the server, somewhere else."""
    address: str = "127.0.0.1"

    def __post_init__(self) -> None:
        self.home = self.folder / "home"
        self.home.mkdir(parents=True)
        self.log = self.folder / "log"
        for kind in self.kinds:
            make_key(self.key(kind), kind)
        (self.folder / "authorized").write_text(public(self.authorized) + "\n")
        login = self.folder / "login"
        login.write_text(LOGIN.format(home=self.home))
        login.chmod(0o755)

    @property
    def name(self) -> str:
        """How known_hosts names it."""
        return f"[{self.address}]:{self.port}"

    def key(self, kind: str = "ed25519") -> Path:
        return self.folder / f"host_{kind}"

    def line(self, kind: str = "ed25519") -> str:
        """Its line of known_hosts."""
        return f"{self.name} {public(self.key(kind))}\n"

    def config(self) -> str:
        keys = "".join(f"HostKey {self.key(kind)}\n" for kind in self.kinds)
        return (
            f"ListenAddress {self.address}\nPort {self.port}\n{keys}"
            f"AuthorizedKeysFile {self.folder / 'authorized'}\n"
            # A login's shell reads the rc files of that home: those of the person may be slow.
            f'SetEnv "HOME={self.home}"\n'
            f"ForceCommand {self.folder / 'login'}\nSubsystem sftp {SFTP_SERVER}\n"
            "StrictModes no\nUsePAM no\nPidFile none\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\nPermitRootLogin yes\nUseDNS no\nLogLevel VERBOSE\n"
            + "".join(f"{option}\n" for option in self.options)
        )

    def start(self) -> Sshd:
        assert SSHD is not None
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # privilege separation
        file = self.folder / "config"
        file.write_text(self.config() + "PerSourcePenalties no\n")
        command = [SSHD, "-t", "-f", str(file)]
        if subprocess.run(command, check=False, capture_output=True).returncode != 0:
            file.write_text(self.config())  # older than 9.8
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.within, SSHD, "-D", "-e", "-f", str(file)],
                stdin=subprocess.DEVNULL,
                stderr=log,
            )
        give_up = time.monotonic() + READY_S
        while time.monotonic() < give_up:
            with contextlib.suppress(OSError):
                socket.create_connection((self.address, self.port), 1.0).close()
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise AssertionError(f"sshd does not start: {self.log.read_text()}")

    def says(self, *, at_first: str = "", at_last: str = "", to_sftp: str = "") -> None:
        """What a login does beside its command, as lines of a shell script.

        ``to_sftp`` is done in place of starting the SFTP server, or before it where it returns.
        """
        home = shlex.quote(str(self.home))
        script = (
            f"#!/bin/sh\nHOME={home}; export HOME; cd {home}\n"
            f'case "$SSH_ORIGINAL_COMMAND" in */sftp-server*)\n:\n{to_sftp}\n'
            f";; *)\n:\n{at_first}\n;; esac\n"
        )
        if at_last:
            script += f"$SSH_ORIGINAL_COMMAND\nstatus=$?\n{at_last}\nexit $status\n"
        else:
            script += "exec $SSH_ORIGINAL_COMMAND\n"
        (self.folder / "login").write_text(script)

    def sessions(self) -> list[int]:
        """Processes of the server that serve a connection each."""
        assert self.process is not None
        return children(self.process.pid)

    def serving(self) -> list[int]:
        """Those and what they started that is OpenSSH itself: all that hold a connection. For root
        one process a session, for others two: one watches, and its child speaks."""
        return [
            pid for session in self.sessions() for pid in descendants(session) if is_openssh(pid)
        ]

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """All connections held, and nothing answered on any; thawed at the end."""
        process_ids = self.serving()
        assert process_ids
        try:
            for pid in process_ids:
                os.kill(pid, signal.SIGSTOP)
            give_up = time.monotonic() + READY_S
            # A process of a login that ends just now stays a zombie: its parent is stopped.
            while {state(pid)[1] for pid in process_ids} - {
                "T",
                "Z",
            } and time.monotonic() < give_up:
                time.sleep(0.001)
            assert {state(pid)[1] for pid in process_ids} - {"Z"} == {"T"}
            yield
        finally:
            for pid in process_ids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def cut(self) -> None:
        """End all connections at once, as a power failure would."""
        for pid in self.serving():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        """End the server and all that it started."""
        if self.process is None:
            return
        process_ids = [pid for session in self.sessions() for pid in descendants(session)]
        self.process.terminate()
        for pid in process_ids:
            for number in (signal.SIGCONT, signal.SIGKILL):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
        self.process.wait(READY_S)
        self.process = None


def state(pid: int) -> tuple[str, str, int]:
    """Name, state and parent of a process, by proc_pid_stat(5); OSError where there is none."""
    text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    name, _, fields = text.partition("(")[2].rpartition(")")
    words = fields.split()
    return name, words[0], int(words[1])


def is_openssh(pid: int) -> bool:
    """Whether a process is of OpenSSH's server: sshd, since 9.8 also sshd-session and sshd-auth."""
    try:
        return state(pid)[0].startswith("sshd")
    except OSError:
        return False


def children(pid: int) -> list[int]:
    """The processes whose parent is ``pid``."""
    process_ids = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            _, condition, parent = state(int(folder.name))
            if parent == pid and condition != "Z":
                process_ids.append(int(folder.name))
    return process_ids


def descendants(pid: int) -> list[int]:
    """A process, its children, theirs, and so on."""
    return [pid, *(later for child in children(pid) for later in descendants(child))]


@dataclass
class Site:
    """A home directory of a user, and the servers he can log in to."""

    folder: Path
    servers: list[Sshd] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ssh = self.folder / "home" / ".ssh"
        self.key = make_key(self.ssh / "id_ed25519")
        self.known = self.ssh / "known_hosts"

    def server(
        self, *options: str, kinds: tuple[str, ...] = ("ed25519",), trust: bool = True
    ) -> Sshd:
        server = Sshd(self.folder / f"server{len(self.servers)}", self.key, list(options), kinds)
        self.servers.append(server.start())
        if trust:
            self.trust(server.line(kinds[0]))
        return server

    def trust(self, line: str) -> None:
        with self.known.open("a") as file:
            file.write(line)


@contextlib.contextmanager
def servers_in(folder: Path) -> Iterator[Site]:
    """A site whose servers are stopped at the end."""
    ssh_site = Site(folder)
    try:
        yield ssh_site
    finally:
        for server in ssh_site.servers:
            server.stop()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    # Nothing of a test lands in the machine's own temporary directories.
    monkeypatch.setattr(deploy, "FALLBACKS", (str(tmp_path / "fallback"),))
    with servers_in(tmp_path) as ssh_site:
        yield ssh_site


def host_at(
    server: Sshd, *, host_key: str | None = None, identity: Path | None = None, name: str = "far"
) -> Host:
    return Host(
        name=name,
        os="L",
        ssh=SshTarget("127.0.0.1", USER, server.port),
        addresses={"test": ("127.0.0.1",)},
        host_key=host_key,
        identity=None if identity is None else str(identity),
    )


def alias(name: str) -> Host:
    return Host(name=name, os="L", ssh=SshTarget(name), addresses={"test": ("127.0.0.1",)})


def log_in(host: Host) -> None:
    connect(host).close()


def until(condition: Callable[[], bool], timeout_s: float = 60.0) -> bool:
    give_up = time.monotonic() + timeout_s
    while not (is_so := condition()) and time.monotonic() < give_up:
        time.sleep(0.01)
    return is_so


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def cached(server: Sshd) -> Path:
    """The one probe in the server's cache."""
    (only,) = (server.home / ".cache" / "netlab").iterdir()
    return only
