"""SSH: one connection per host, one channel per program, SFTP or commands for the probe's file."""

from __future__ import annotations

import queue
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import paramiko
from paramiko.sftp import SFTPError
from paramiko.ssh_exception import ChannelException, SSHException

from netlab.build.binaries import OnEvent
from netlab.errors import HostError, HostGone
from netlab.experiment.hosts import Host, SshTarget
from netlab.remote.login.chain import Chain, in_words
from netlab.remote.login.login import log_in
from netlab.remote.sftp import Sftp, SftpBroken
from netlab.remote.transport import LAST_WORDS_S, Tail

BROKEN = (SSHException, SFTPError, EOFError, OSError)
"""Errors of paramiko on a lost connection. Closing a channel sends a message, so it may fail."""
LOGIN_MOST_S = 600.0
"""Time limit of a whole login, including the wait for its turn. Each wait also has a shorter limit
of its own, except a wait that cannot be interrupted, such as for the ssh-agent of Windows."""
CHANNEL_S = 10.0
"""Time for a host to open a channel, and to begin a command or a subsystem on it."""
WRITE_S = 10.0
"""Time for a command to accept input."""
STATUS_S = 5.0
"""Time for a command's exit status to arrive after the end of its output."""
FREED_S = 5.0
"""Time for which a host may still count a channel that has ended (MaxSessions of
sshd_config(5))."""
FULL = (2, 4)
"""Codes of a refused channel: SSH_OPEN_CONNECT_FAILED, which OpenSSH sends beyond MaxSessions, and
SSH_OPEN_RESOURCE_SHORTAGE."""

WRITE_BYTES = 1 << 15
ROOM_POLL_S = 0.005
UNLINKED_S = 0.2
"""Maximum time between the end of a connection's channels and the end of the connection."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The output and the exit status of a command."""

    stdout: bytes
    stderr: str
    """The end of standard error."""
    status: int | None
    """Exit status; ``None`` if the host does not report it."""

    @property
    def text(self) -> str:
        """Standard output as text; invalid bytes are replaced."""
        return self.stdout.decode("utf-8", "replace")


class SshTransport:
    """One SSH connection to one host, with the jump hosts that it passes through.

    Any thread may call ``close``, also while ``log_in`` waits. Every wait on the host then ends at
    once with HostGone, and no thread keeps the program alive.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._shown = host.name
        self._chain = Chain(host.name)
        self._logins: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        """Result of the login: ``None``, its error, or HostGone if ``close`` came first."""
        self._freed_at = float("-inf")

    def log_in(self, on_event: OnEvent = None) -> None:
        """Connect; HostKeyError, HostRefused or HostError with a sentence if it fails.

        ``on_event`` gets messages about slow steps, from another thread.
        """
        target = self._host.ssh
        if target is None:
            raise HostError(f"{self._shown} has no `ssh:`")
        # A daemon thread logs in: the lookup of a name, or reading a key from a network drive that
        # does not answer, cannot be interrupted.
        work = (target, on_event)
        threading.Thread(target=self._log_in, args=work, daemon=True).start()
        try:
            error = self._logins.get(timeout=LOGIN_MOST_S)
        except queue.Empty:
            error = HostError(f"{self._shown}: its login did not end in {LOGIN_MOST_S:g} s")
        if error is not None:
            self.close()
            raise error

    def _log_in(self, target: SshTarget, on_event: OnEvent) -> None:
        try:
            log_in(self._shown, target, self._host, self._chain, on_event)
        except BaseException as error:
            self._logins.put(error)
        else:
            self._logins.put(None)

    def start(self, argv: Sequence[str]) -> SshProcess:
        """Run a command; its words must mean the same to every shell, without any quoting."""
        command = " ".join(argv)
        return SshProcess(
            self._channel(lambda channel: channel.exec_command(command), "runs no commands"),
            self._freed,
        )

    def answer(
        self, argv: Sequence[str], *, data: bytes = b"", most_bytes: int, timeout_s: float
    ) -> Answer:
        """Run a command with ``data`` as its standard input; returns its output and status.

        TimeoutError, with the output so far, if it takes longer than ``timeout_s`` in all; HostGone
        if the connection ends.
        """
        process = self.start(argv)
        give_up = time.monotonic() + timeout_s
        try:
            # A command may end before it has read all its input, for example on a full disk.
            try:
                process.write(data, timeout_s)
            except TimeoutError:
                raise
            except OSError:
                pass
            process.close_input()
            stdout = process.read_all(most_bytes, max(0.0, give_up - time.monotonic()))
            status = process.wait(max(0.0, min(STATUS_S, give_up - time.monotonic())))
            self._check()
            return Answer(stdout, process.stderr_tail(), status)
        except TimeoutError:
            raise
        except OSError as error:
            raise self._gone(error) from None
        finally:
            process.kill()

    @contextmanager
    def sftp(self) -> Iterator[Sftp]:
        """An SFTP client; SftpBroken if the host offers no SFTP, or if it fails meanwhile."""
        try:
            channel = self._channel(
                lambda channel: channel.invoke_subsystem("sftp"), "has no SFTP subsystem"
            )
        except HostGone:
            raise
        except HostError as error:
            raise SftpBroken(str(error)) from None
        try:
            yield Sftp(channel, self._shown)
        finally:
            with suppress(*BROKEN):
                channel.close()
            self._freed()

    @contextmanager
    def deadline(self, seconds: float, sentence: str) -> Iterator[None]:
        """A time limit for the context; after this time the connection ends, and HostError is
        raised.
        """
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            self.close()

        timer = _after(seconds, expire)
        try:
            yield
        except (HostError, *BROKEN):
            if expired.is_set():
                raise HostError(f"{self._shown}: {sentence}") from None
            raise
        finally:
            timer.cancel()

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called."""
        return self._chain.closed

    def close(self) -> None:
        """End the connection and those to its jump hosts, without waiting for any host."""
        self._logins.put(HostGone(f"{self._shown}: the connection was closed"))
        self._chain.close()

    # Channels

    def _channel(self, begin: Callable[[paramiko.Channel], None], refusal: str) -> paramiko.Channel:
        """Open a channel and call ``begin`` with it; HostGone, or HostError if the host refuses."""
        channel = self._session()
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            with suppress(*BROKEN):
                channel.close()

        timer = _after(CHANNEL_S, expire)
        try:
            begin(channel)
        except Exception as error:  # any error of paramiko's thread arrives here
            with suppress(*BROKEN):
                channel.close()
            self._check()
            if expired.is_set():
                sentence = f"{self._shown}: it does not start a program within {CHANNEL_S:g} s"
                raise HostGone(sentence) from None
            if self._chain.connections[-1].is_active():
                raise HostError(f"{self._shown}: it {refusal} ({in_words(error)})") from None
            raise self._gone(error) from None
        finally:
            timer.cancel()
        return channel

    def _session(self) -> paramiko.Channel:
        """A new channel. If the host still counts a channel that was just closed, try again."""
        pause_s = 0.02
        while True:
            self._check()
            try:
                return self._chain.connections[-1].open_session(timeout=CHANNEL_S)
            except ChannelException as error:
                if error.code not in FULL or time.monotonic() > self._freed_at + FREED_S:
                    raise HostError(
                        f"{self._shown}: it opens no further channel ({error.text}); how many does "
                        "MaxSessions of its sshd allow?"
                    ) from None
            except Exception as error:  # as in `_channel`
                is_there = self._chain.connections[-1].is_active()
                if is_there and isinstance(error, SSHException):
                    sentence = f"{self._shown}: it opens no channel in {CHANNEL_S:g} s"
                    raise HostGone(sentence) from None
                raise self._gone(error) from None
            self._chain.pause(pause_s)
            pause_s = min(0.5, 2 * pause_s)

    def _freed(self) -> None:
        self._freed_at = time.monotonic()

    def _check(self) -> None:
        """Raise HostGone if there is no connection."""
        self._chain.check()
        if not self._chain.connections:
            raise HostGone(f"{self._shown}: not logged in")
        if not self._chain.connections[-1].is_active():
            raise HostGone(f"{self._shown}: the SSH connection is gone")

    def _gone(self, error: BaseException) -> HostGone:
        if self._chain.closed:
            return HostGone(f"{self._shown}: the connection was closed")
        return HostGone(f"{self._shown}: the SSH connection is gone ({in_words(error)})")


class SshProcess:
    """A command on its own channel."""

    def __init__(self, channel: paramiko.Channel, on_end: Callable[[], None]) -> None:
        """``on_end`` is called after the channel was closed."""
        self._channel = channel
        self._on_end = on_end
        self._tail = Tail()
        self._drain = threading.Thread(target=self._drain_stderr, daemon=True)
        self._drain.start()

    def write(self, data: bytes, within_s: float | None = None) -> None:
        """Write all of ``data`` to its standard input.

        TimeoutError if it accepts no input within ``within_s``, by default ``WRITE_S``. The
        channel's own timeout is not used, because it also applies to the reader.
        """
        seconds = WRITE_S if within_s is None else within_s
        give_up = time.monotonic() + seconds
        offset = 0
        with _as_os_error():
            while offset < len(data):
                if self._channel.send_ready():
                    offset += self._channel.send(data[offset : offset + WRITE_BYTES])
                elif time.monotonic() > give_up:
                    raise TimeoutError(f"it takes no input for {seconds:g} s")
                else:
                    time.sleep(ROOM_POLL_S)

    def read(self) -> bytes:
        """The next bytes of its standard output; ``b""`` at its end."""
        with _as_os_error():
            return self._channel.recv(65536)

    def read_all(self, most_bytes: int, timeout_s: float) -> bytes:
        """All output up to a limit; TimeoutError, with the last output, if it takes too long."""
        give_up = time.monotonic() + timeout_s
        answer = b""
        while len(answer) < most_bytes:
            self._channel.settimeout(max(0.001, give_up - time.monotonic()))
            try:
                part = self.read()
            except TimeoutError:
                raise TimeoutError(answer[-200:].decode("utf-8", "replace")) from None
            if not part:
                break
            answer += part
        return answer

    def read_until(self, mark: str, most_bytes: int, timeout_s: float) -> bytes:
        """The output before a line that ends with ``mark``; this line is read as well.

        TimeoutError if it takes too long, OSError if the output ends or exceeds the limit first.
        """
        give_up = time.monotonic() + timeout_s
        pattern = re.compile(re.escape(mark.encode("ascii")) + rb"\r?\n")
        output = b""
        try:
            while (end := pattern.search(output)) is None:
                self._channel.settimeout(max(0.001, give_up - time.monotonic()))
                part = self.read()
                output += part
                if not part or len(output) > most_bytes:
                    raise OSError(f"unexpected output: {output[-200:]!r}")
        finally:
            self._channel.settimeout(None)
        return output[: end.start()]

    def stderr_tail(self) -> str:
        """The end of its standard error."""
        return self._tail.text()

    def close_input(self) -> None:
        """Close its standard input."""
        with suppress(*BROKEN):
            self._channel.shutdown_write()

    def wait(self, timeout_s: float) -> int | None:
        """Its exit status, or ``None`` if it still runs or the connection is lost."""
        if not self._channel.status_event.wait(timeout_s):
            return None
        self._drain.join(LAST_WORDS_S)
        status = self._channel.recv_exit_status()
        return None if status < 0 else status

    def is_connected(self) -> bool:
        """Whether its connection exists; paramiko notices the end of a connection with a short
        delay.
        """
        give_up = time.monotonic() + UNLINKED_S
        transport = self._channel.get_transport()
        while transport is not None and transport.is_active():
            if time.monotonic() > give_up:
                return True
            time.sleep(0.01)
        return False

    def kill(self) -> None:
        """Close the channel, which also ends the program's input."""
        with suppress(*BROKEN):
            self._channel.close()
        self._on_end()
        self._drain.join(1.0)

    def _drain_stderr(self) -> None:
        with suppress(*BROKEN):
            while part := self._channel.recv_stderr(4096):
                self._tail.add(part)


def _after(seconds: float, call: Callable[[], None]) -> threading.Timer:
    """A started timer that does not keep the program alive."""
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()
    return timer


@contextmanager
def _as_os_error() -> Iterator[None]:
    try:
        yield
    except (SSHException, EOFError) as error:
        raise OSError(in_words(error)) from None
