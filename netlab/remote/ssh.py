"""SSH: one connection a host, a channel a program, SFTP for the probe's file."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import paramiko
from paramiko.ssh_exception import SSHException

from netlab.errors import HostError, HostGone
from netlab.experiment.hosts import Host
from netlab.remote.login import LOGIN_S, log_in
from netlab.remote.transport import LAST_WORDS_S, Tail

BROKEN = (SSHException, EOFError, OSError)
"""What paramiko raises on a connection that is gone: even closing a channel sends a message."""

UNLINKED_S = 0.2
"""Between the end of a connection's channels and its own, at most."""


class SshTransport:
    """One connection to one host, with whatever it passes through."""

    def __init__(self, shown: str, connections: list[paramiko.Transport]) -> None:
        self._shown = shown
        self._connections = connections
        """The last is the host's own, those before it are jump hosts."""

    @classmethod
    def connect(cls, host: Host) -> SshTransport:
        """Log in; HostKeyError, HostRefused or HostError with a sentence where it fails."""
        if host.ssh is None:
            raise HostError(f"{host.name} has no `ssh:`")
        connections: list[paramiko.Transport] = []
        try:
            log_in(host.name, host.ssh, host, connections, 0)
        except BaseException:
            for connection in reversed(connections):
                connection.close()
            raise
        return cls(host.name, connections)

    def start(self, argv: Sequence[str]) -> SshProcess:
        """Run a command; its words must mean the same to every shell, without any quoting."""
        try:
            channel = self._connections[-1].open_session(timeout=LOGIN_S)
            channel.exec_command(" ".join(argv))
        except BROKEN as error:
            raise HostGone(f"{self._shown}: the SSH connection is gone ({_why(error)})") from None
        return SshProcess(channel)

    @contextmanager
    def sftp(self) -> Iterator[paramiko.SFTPClient]:
        """A client for files; HostError where the host offers none, or it ends in between."""
        try:
            client = paramiko.SFTPClient.from_transport(self._connections[-1])
        except BROKEN as error:
            raise HostError(
                f"{self._shown}: no SFTP: {_why(error)}; is its subsystem on?"
            ) from None
        assert client is not None  # noqa: S101  (told to the type checker)
        try:
            yield client
        except BROKEN as error:
            raise HostError(f"{self._shown}: its SFTP fails: {_why(error)}") from None
        finally:
            with suppress(*BROKEN):
                client.close()

    def close(self) -> None:
        """End the connection, and those it passes through."""
        for connection in reversed(self._connections):
            connection.close()


class SshProcess:
    """A command on its own channel."""

    def __init__(self, channel: paramiko.Channel) -> None:
        self._channel = channel
        self._tail = Tail()
        self._drain = threading.Thread(target=self._drain_stderr, daemon=True)
        self._drain.start()

    def write(self, data: bytes) -> None:
        """Hand all of ``data`` to its standard input."""
        with _as_os_error():
            self._channel.sendall(data)

    def read(self) -> bytes:
        """What has come from its standard output; ``b""`` at its end."""
        with _as_os_error():
            return self._channel.recv(65536)

    def read_all(self, most_bytes: int, timeout_s: float) -> bytes:
        """All of a short answer; TimeoutError where more than that time passes without any."""
        said = b""
        self._channel.settimeout(timeout_s)
        while len(said) < most_bytes and (part := self.read()):
            said += part
        return said

    def stderr_tail(self) -> str:
        """The last of what it said on standard error."""
        return self._tail.text()

    def close_input(self) -> None:
        """End its input."""
        with suppress(*BROKEN):
            self._channel.shutdown_write()

    def wait(self, timeout_s: float) -> int | None:
        """Its exit status, or ``None`` where it still runs, or the connection is gone."""
        if not self._channel.status_event.wait(timeout_s):
            return None
        self._drain.join(LAST_WORDS_S)
        status = self._channel.recv_exit_status()
        return None if status < 0 else status

    def is_connected(self) -> bool:
        """Whether its connection is there; once it ended, paramiko takes a moment to say so."""
        give_up = time.monotonic() + UNLINKED_S
        transport = self._channel.get_transport()
        while transport is not None and transport.is_active():
            if time.monotonic() > give_up:
                return True
            time.sleep(0.01)
        return False

    def kill(self) -> None:
        """Close the channel: the program's input ends with it."""
        with suppress(*BROKEN):
            self._channel.close()
        self._drain.join(1.0)

    def _drain_stderr(self) -> None:
        with suppress(*BROKEN):
            while part := self._channel.recv_stderr(4096):
                self._tail.add(part)


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except (SSHException, EOFError) as error:
        raise OSError(_why(error)) from None


def _why(error: Exception) -> str:
    return str(error) or type(error).__name__
