"""SSH: one connection a host, a channel a program, SFTP or commands for the probe's file."""

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

from netlab.build.local import OnEvent
from netlab.errors import HostError, HostGone
from netlab.experiment.hosts import Host, SshTarget
from netlab.remote.login.chain import Chain, in_words
from netlab.remote.login.login import log_in
from netlab.remote.sftp import Sftp, SftpBroken
from netlab.remote.transport import LAST_WORDS_S, Tail

BROKEN = (SSHException, SFTPError, EOFError, OSError)
"""What paramiko raises on a connection that is gone: even closing a channel sends a message."""
LOGIN_MOST_S = 600.0
"""What a login may take in all, with its turn among others: each wait has a shorter end of its own,
save what no program can interrupt, such as an ssh-agent of Windows."""
CHANNEL_S = 10.0
"""What a host may take to open a channel, and to begin a command or a subsystem on it."""
WRITE_S = 10.0
"""What a command may take to make room for what is written to it."""
STATUS_S = 5.0
"""What a command's exit status may take after the end of its output."""
FREED_S = 5.0
"""How long after a channel ended a host may still count it (MaxSessions of sshd_config(5))."""
FULL = (2, 4)
"""SSH_OPEN_CONNECT_FAILED, which OpenSSH answers beyond MaxSessions; RESOURCE_SHORTAGE."""

WRITE_BYTES = 1 << 15
ROOM_POLL_S = 0.005
UNLINKED_S = 0.2
"""Between the end of a connection's channels and its own, at most."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command left when it ended."""

    stdout: bytes
    stderr: str
    """The last of it."""
    status: int | None
    """``None`` where the host does not say it."""

    @property
    def text(self) -> str:
        """Standard output as text, whatever is in it."""
        return self.stdout.decode("utf-8", "replace")


class SshTransport:
    """One connection to one host, with whatever it passes through.

    ``close`` may come from any thread, also while ``log_in`` waits: every wait on the host then
    ends with HostGone at once, and no thread of ours keeps the program alive.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        self._shown = host.name
        self._chain = Chain(host.name)
        self._logins: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        """How the login ended; HostGone where ``close`` came first."""
        self._freed_at = float("-inf")

    def log_in(self, on_event: OnEvent = None) -> None:
        """Connect; HostKeyError, HostRefused or HostError with a sentence where it fails.

        ``on_event`` hears what takes long, from another thread.
        """
        target = self._host.ssh
        if target is None:
            raise HostError(f"{self._shown} has no `ssh:`")
        # In a thread that nobody waits for at the end: looking up a name, or reading a key from a
        # share that is away, cannot be interrupted.
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
        """What a command answers to ``data`` on its standard input.

        TimeoutError, with what was said by then, where it takes longer than ``timeout_s`` in all;
        HostGone where the connection ends.
        """
        process = self.start(argv)
        give_up = time.monotonic() + timeout_s
        try:
            # A command that ends before it read all, such as on a full disk, has an answer too.
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
        """A client for files; SftpBroken where the host offers none, or it fails in between."""
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
        """End the connection, and so what is done within, after a time; HostError with a sentence
        then.
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
        """Whether somebody closed it."""
        return self._chain.closed

    def close(self) -> None:
        """End the connection, and those it passes through, without waiting for any host."""
        self._logins.put(HostGone(f"{self._shown}: let go"))
        self._chain.close()

    # Channels

    def _channel(self, begin: Callable[[paramiko.Channel], None], refused: str) -> paramiko.Channel:
        """A channel on which something began; HostGone, or HostError where the host refuses it."""
        channel = self._session()
        expired = threading.Event()

        def expire() -> None:
            expired.set()
            with suppress(*BROKEN):
                channel.close()

        timer = _after(CHANNEL_S, expire)
        try:
            begin(channel)
        except Exception as error:  # whatever its thread died of, paramiko raises here
            with suppress(*BROKEN):
                channel.close()
            self._check()
            if expired.is_set():
                what = f"{self._shown}: it does not begin what it is asked for in {CHANNEL_S:g} s"
                raise HostGone(what) from None
            if self._chain.connections[-1].is_active():
                raise HostError(f"{self._shown}: it {refused} ({in_words(error)})") from None
            raise self._gone(error) from None
        finally:
            timer.cancel()
        return channel

    def _session(self) -> paramiko.Channel:
        """A channel; where the host has no room yet for one more, the next try may find some."""
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
                    what = f"{self._shown}: it opens no channel in {CHANNEL_S:g} s"
                    raise HostGone(what) from None
                raise self._gone(error) from None
            self._chain.pause(pause_s)
            pause_s = min(0.5, 2 * pause_s)

    def _freed(self) -> None:
        self._freed_at = time.monotonic()

    def _check(self) -> None:
        """HostGone where there is no connection."""
        self._chain.check()
        if not self._chain.connections:
            raise HostGone(f"{self._shown}: not logged in")
        if not self._chain.connections[-1].is_active():
            raise HostGone(f"{self._shown}: the SSH connection is gone")

    def _gone(self, error: BaseException) -> HostGone:
        if self._chain.closed:
            return HostGone(f"{self._shown}: let go")
        return HostGone(f"{self._shown}: the SSH connection is gone ({in_words(error)})")


class SshProcess:
    """A command on its own channel."""

    def __init__(self, channel: paramiko.Channel, on_end: Callable[[], None]) -> None:
        """``on_end`` is called when the channel was closed."""
        self._channel = channel
        self._on_end = on_end
        self._tail = Tail()
        self._drain = threading.Thread(target=self._drain_stderr, daemon=True)
        self._drain.start()

    def write(self, data: bytes, within_s: float | None = None) -> None:
        """Hand all of ``data`` to its standard input.

        TimeoutError where it makes no room in ``within_s``, ``WRITE_S`` by default. The channel's
        own deadline would be that of whoever reads, too.
        """
        seconds = WRITE_S if within_s is None else within_s
        give_up = time.monotonic() + seconds
        sent = 0
        with _as_os_error():
            while sent < len(data):
                if self._channel.send_ready():
                    sent += self._channel.send(data[sent : sent + WRITE_BYTES])
                elif time.monotonic() > give_up:
                    raise TimeoutError(f"it takes no input for {seconds:g} s")
                else:
                    time.sleep(ROOM_POLL_S)

    def read(self) -> bytes:
        """What has come from its standard output; ``b""`` at its end."""
        with _as_os_error():
            return self._channel.recv(65536)

    def read_all(self, most_bytes: int, timeout_s: float) -> bytes:
        """All of a short answer; TimeoutError, with the last of it, where it takes longer."""
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
        """What comes before a line that ends with ``mark``, which is read as well.

        TimeoutError where it takes longer, OSError where it does not come at all.
        """
        give_up = time.monotonic() + timeout_s
        found = re.compile(re.escape(mark.encode("ascii")) + rb"\r?\n")
        said = b""
        try:
            while (end := found.search(said)) is None:
                self._channel.settimeout(max(0.001, give_up - time.monotonic()))
                part = self.read()
                said += part
                if not part or len(said) > most_bytes:
                    raise OSError(f"it says something else: {said[-200:]!r}")
        finally:
            self._channel.settimeout(None)
        return said[: end.start()]

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
        self._on_end()
        self._drain.join(1.0)

    def _drain_stderr(self) -> None:
        with suppress(*BROKEN):
            while part := self._channel.recv_stderr(4096):
                self._tail.add(part)


def _after(seconds: float, call: Callable[[], None]) -> threading.Timer:
    """A timer that keeps no program alive; started."""
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
