"""Controls the agent, a netprobe process on a host: connection, start, requests, heartbeats."""

from __future__ import annotations

import importlib
import logging
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any, Self

from netlab import clock
from netlab.errors import HostError, HostGone, ProbeError
from netlab.experiment.hosts import Host
from netlab.remote import answers
from netlab.remote.answers import ClockOffset, Inbox, Pending, request_line
from netlab.remote.transport import Connections, LocalTransport, Process, Transport
from netlab.terminal import excerpt
from netlab.version import VERSION

INVOKE = "invoke"
"""A dependency of paramiko, which takes a third of paramiko's import time. It is imported later if
`Match exec` of ~/.ssh/config needs it."""

_turn = threading.Lock()


class _Late(ModuleType):
    """A stand-in for a package that is imported at its first use; ImportError if it is missing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(importlib.import_module(INVOKE), name)


def import_paramiko() -> None:
    """Import paramiko. Any thread may call it; only the first call has an effect."""
    with _turn:
        if "paramiko" in sys.modules:
            return
        late_module = None if INVOKE in sys.modules else _Late(INVOKE)
        if late_module is not None:
            sys.modules[INVOKE] = late_module
        try:
            import paramiko  # noqa: F401
        finally:
            if late_module is not None and sys.modules.get(INVOKE) is late_module:
                del sys.modules[INVOKE]


def connect(
    host: Host,
    on_event: Callable[[str], None] | None = None,
    connections: Connections | None = None,
) -> Transport:
    """Connect to ``host``; HostError or a subclass if that fails.

    The connection is registered with ``connections`` before its login begins, so that closing
    ``connections`` also ends the login. Another thread calls ``on_event`` with messages about slow
    steps.
    """
    if host.local:
        local = LocalTransport(host)
        if connections is not None:
            connections.add(local)
        return local
    import_paramiko()
    from netlab.remote.ssh import SshTransport

    remote = SshTransport(host)
    if connections is not None:
        connections.add(remote)
    remote.log_in(on_event)
    return remote


THREAD = "heartbeats"
"""Name of the thread that sends all heartbeats: a thread for each agent would cost a thousand hosts
a thousand threads, which wake 500 times a second."""

TICK_S = 0.25

Beat = Callable[[float], float | None]
"""Sends a heartbeat if one is due, without waiting for the host. Gets the time of the monotonic
clock; returns the seconds until the next call, or ``None`` if there is nothing left to do."""


class Heartbeats:
    """Calls each agent's ``Beat`` when it is due, in a thread that ends with the last agent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._due_s: dict[Beat, float] = {}
        """Beat → time of the monotonic clock at which it is called."""

    def add(self, beat: Beat, after_s: float) -> None:
        """Call ``beat`` for the first time after ``after_s``."""
        with self._lock:
            begins = not self._due_s
            self._due_s[beat] = clock.monotonic() + after_s
        if begins:
            threading.Thread(target=self._run, name=THREAD, daemon=True).start()

    def _run(self) -> None:
        while self._beat_all():
            clock.sleep(TICK_S)

    def _beat_all(self) -> bool:
        """Make the calls that are due; returns whether any agent is left."""
        now_s = clock.monotonic()
        with self._lock:
            due = [beat for beat, at_s in self._due_s.items() if at_s <= now_s]
        nexts: dict[Beat, float | None] = dict.fromkeys(due)
        for beat in due:
            try:
                nexts[beat] = beat(now_s)
            except Exception:  # this agent gets no more heartbeats; the others go on
                logging.getLogger(__name__).exception("a heartbeat failed")
        with self._lock:
            for beat, after_s in nexts.items():
                if after_s is None:
                    del self._due_s[beat]
                else:
                    self._due_s[beat] = now_s + after_s
            return bool(self._due_s)


HEARTBEATS = Heartbeats()

PROTOCOL = 1
HEARTBEAT_S = 2.0
SILENCE_S = 30.0
"""A host that sends nothing for this long is lost; a running agent answers every heartbeat."""
HELLO_S = 60.0
"""Time limit of the greeting (`hello`); a first start may have to wait for a virus scanner."""
SAY_S = 3.0
"""If the greeting takes longer than this, a message says what netlab waits for."""
ANSWER_S = 10.0
CLOCK_S = 5.0
"""Time limit for measuring one clock offset; only its first exchange may take longer."""
GOODBYE_S = 2.0
SKIPPED_MOST = 1 << 20
"""Maximum total number of bytes outside of records; a login's banner is shorter."""
HOST_BYTES_AT_ONCE, HOST_BYTES_PER_S = 16 << 20, 4 << 20
HOST_RECORDS_AT_ONCE, HOST_RECORDS_PER_S = 20_000, 5_000
"""Limits of what a host may send: enough for 64 tests with their longest records at once, or for
answers to requests that follow each other as fast as possible."""


class Agent:
    """A running ``netprobe agent`` on a host. Several threads may call its methods."""

    def __init__(self, host: Host, transport: Transport, process: Process) -> None:
        self.host = host
        self.hello: Mapping[str, Any] = {}
        self.probe_path = ""
        """Path of the probe's file on the host, for messages."""
        self._machine = f"host {host.name}"
        self._network = ""
        self.skipped_lines = 0
        """Number of received lines that are not records."""
        self._skipped_bytes = 0
        self.last_skipped = ""
        """The last such line, escaped and cut."""
        self._first_skipped = ""
        self._bytes = answers.Allowance(HOST_BYTES_AT_ONCE, HOST_BYTES_PER_S)
        self._records = answers.Allowance(HOST_RECORDS_AT_ONCE, HOST_RECORDS_PER_S)
        self._transport = transport
        self._process = process
        self._pending: dict[str, Pending] = {}
        self._number = 0
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._heard_at = self._sent_at = clock.monotonic()
        self._gone: str | None = None
        self.died = False
        """Whether the probe ended while the connection to the host still existed."""
        self._closing = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @classmethod
    def open(
        cls,
        host: Host,
        on_event: Callable[[str], None] | None = None,
        *,
        connections: Connections | None = None,
    ) -> Self:
        """Connect to a host, install the right probe there, start its agent and ``greet`` it.

        Raises HostError and its subclasses. ``on_event`` gets messages about slow steps; several
        threads call it. If another thread closes ``connections``, ``open`` raises HostGone.
        """
        from netlab.remote.deploy import places

        transport = connect(host, on_event, connections)
        try:
            refusals: list[str] = []
            for place in places(host, transport, on_event, refusals):
                process = place.process or transport.start(place.argv)
                agent = cls(host, transport, process)
                agent.probe_path = place.path
                try:
                    agent.greet(place.binary, on_event)
                except HostGone as gone:
                    agent.release()
                    if transport.closed:
                        raise
                    # The directory may be read-only, noexec or full: try another one.
                    refusals.append(f"{place.argv[0]}: {gone}")
                except BaseException:
                    agent.release()
                    raise
                else:
                    return agent
            raise HostError(f"{host.name}: no place to start the probe from: {'; '.join(refusals)}")
        except BaseException:
            transport.close()
            raise

    @property
    def gone(self) -> bool:
        """Whether the host is lost or the agent was closed."""
        return self._gone is not None

    @property
    def why_gone(self) -> str:
        """A sentence about the loss of the host."""
        return self._gone or f"{self.host.name}: gone"

    @property
    def identity(self) -> tuple[str, str]:
        """Ids of the machine and its network namespace; two names of one host have the same ids."""
        return self._machine, self._network

    def start(self, verb: str, *, inbox: Inbox | None = None, **keys: Any) -> Pending:
        """Send a request. The reading thread passes its answers to ``inbox``, else to a queue."""
        with self._lock:
            self._number += 1
            valid = answers.Answers(verb, keys)
            pending = Pending(self.host.name, str(self._number), inbox, valid)
            sentence = self._gone
            if sentence is None:
                self._pending[pending.id] = pending
        if sentence is not None:
            pending.deliver({"type": answers.GONE, "detail": sentence})
            return pending
        try:
            with self._write_lock:
                self._process.write(request_line(pending.id, verb, keys))
                self._sent_at = clock.monotonic()
        except (OSError, ValueError) as error:
            self._on_write_error(error)
        return pending

    def ask(self, verb: str, *, timeout_s: float | None = None, **keys: Any) -> Mapping[str, Any]:
        """Send a request and wait for its answer; ProbeError or HostGone if there is none."""
        return self.start(verb, **keys).record(ANSWER_S if timeout_s is None else timeout_s)

    def facts(self, to: str | None = None, *, interface: str | None = None) -> Mapping[str, Any]:
        """Facts about the host, and about the route to an address (``to``) or an interface."""
        words: dict[str, Any] = {"to": to, "interface": interface}
        return self.ask("facts", **{key: word for key, word in words.items() if word is not None})

    def start_beside(self, argv: Sequence[str]) -> Process:
        """Start another program on the host. Over SSH, no word of ``argv`` may need quoting."""
        return self._transport.start(argv)

    def clock_offset(self, enough_ns: int = 0) -> ClockOffset:
        """The offset of the agent's clock; ``enough_ns``: see ``answers.fastest``."""

        def exchange(timeout_s: float) -> ClockOffset:
            begin_ns = clock.monotonic_ns()
            host_ns = int(self.ask("clock", timeout_s=timeout_s)["monotonic_ns"])
            end_ns = clock.monotonic_ns()
            return ClockOffset(host_ns - (begin_ns + end_ns) // 2, (end_ns - begin_ns + 1) // 2)

        return answers.fastest(exchange, first_s=ANSWER_S, all_s=CLOCK_S, enough_ns=enough_ns)

    def close(self) -> None:
        """End the agent and close the connection. Safe to call again, and from another thread."""
        if self._closing.is_set():
            return
        self._closing.set()
        try:
            self._send(request_line("bye", "quit", {}), GOODBYE_S)
        except (OSError, ValueError):
            self._gone = self._gone or f"{self.host.name}: gone"
        self._process.close_input()
        self._process.wait(0.1 if self._gone else GOODBYE_S)
        self._mark_lost(f"{self.host.name}: the connection was closed")
        self.release()
        self._transport.close()

    def release(self) -> None:
        """End the process without a request: for ``close``, or if the program is not an agent."""
        self._closing.set()
        self._process.kill()
        if threading.current_thread() is not self._reader:
            self._reader.join(GOODBYE_S)

    def greet(self, binary: bytes | None, on_event: Callable[[str], None] | None = None) -> None:
        """Check the version, and the build if ``binary`` is given; HostError if one is wrong."""
        name = self.host.name
        try:
            self.hello = self._first_answer(on_event)
            machine, network = self.hello.get("machine_id"), self.hello.get("network_id")
            facts = self.ask("facts") if machine is None or network is None else {}
            # All containers of a machine share the boot id.
            self._machine = str(machine or facts.get("boot_id") or f"host {name}")
            self._network = str(network or facts.get("hostname") or "")
        except ProbeError as error:
            raise HostError(f"{name}: no probe answers: {error.detail or error.word}") from None
        theirs = (self.hello.get("protocol"), self.hello.get("version"))
        if theirs != (PROTOCOL, VERSION):
            protocol, version = (excerpt(str(value)) for value in theirs)
            raise HostError(
                f"{name}: its probe is version {version} (protocol {protocol}), "
                f"netlab is {VERSION} (protocol {PROTOCOL}); they have to be the same"
            )
        # The build is a hash of the sources; every binary that was built from them contains it.
        build = str(self.hello.get("build", ""))
        if binary is not None and (not build or build.encode() not in binary):
            build_label = excerpt(build) or "unknown"
            raise HostError(
                f"{name}: its probe is build {build_label}, not the one that netlab installed; "
                "another program answers instead"
            )
        HEARTBEATS.add(self._beat, HEARTBEAT_S)

    def _first_answer(self, on_event: Callable[[str], None] | None) -> Mapping[str, Any]:
        """The answer to `hello`. No test runs yet, so a long wait for a first start is harmless."""
        pending = self.start("hello")
        try:
            return pending.record(SAY_S)
        except ProbeError as error:
            if error.word != "no-answer":
                raise
        if on_event is not None:
            on_event(
                f"{self.host.name}: its probe does not answer yet; a first start may have to wait "
                f"for a virus scanner, {HELLO_S:g} s at most"
            )
        return pending.record(HELLO_S - SAY_S)

    def _send(self, line: bytes, wait_s: float) -> None:
        """Write a line, unless another thread blocks the input for longer than ``wait_s``."""
        if self._write_lock.acquire(timeout=wait_s):
            try:
                self._process.write(line)
                self._sent_at = clock.monotonic()
            finally:
                self._write_lock.release()

    def _beat(self, now_s: float) -> float | None:
        """A ``Beat``: send a heartbeat if nothing was sent for a while; detect a silent host."""
        if self._closing.is_set() or self._gone is not None:
            return None
        silent_s = now_s - self._heard_at
        if silent_s > SILENCE_S:
            self._mark_lost(f"{self.host.name}: silent for {silent_s:.0f} s")
            _in_thread(self._process.kill)
            return None
        left_s = self._sent_at + HEARTBEAT_S - now_s
        if left_s > 0:  # a request is as good as a heartbeat
            return left_s
        # A host that has answered takes a line at once. Otherwise the write may block.
        if self._heard_at >= self._sent_at:
            self._send_heartbeat()
        else:
            _in_thread(self._send_heartbeat)
        return HEARTBEAT_S

    def _send_heartbeat(self) -> None:
        try:
            self._send(request_line("beat", "heartbeat", {}), 0)
        except (OSError, ValueError) as error:
            _in_thread(self._on_write_error, error)

    def _on_write_error(self, error: Exception) -> None:
        """Mark the host as lost. First wait for the reader, which may learn how the probe ended."""
        if threading.current_thread() is not self._reader:
            self._reader.join(1.0)
        self._mark_lost(f"{self.host.name}: the connection broke ({error})")

    def _read(self) -> None:
        reader = answers.RecordReader()
        try:
            while self._gone is None and (part := self._process.read()):
                self._heard_at = now_s = clock.monotonic()
                if not self._bytes.takes(len(part), now_s):
                    self._refuse(f"sends more than {HOST_BYTES_AT_ONCE >> 20} MiB at once")
                for record in reader.feed(part):
                    if self._gone is not None:
                        break
                    if isinstance(record, bytes):
                        self._skip(record)  # a login's banner
                    elif self._records.takes(1, now_s):
                        self._deliver(record, now_s)
                    else:
                        self._refuse(f"sends more than {HOST_RECORDS_AT_ONCE} records at once")
        except (OSError, ValueError) as error:
            self._mark_lost(f"{self.host.name}: the connection broke ({error})")
        if self._gone is None:
            self._mark_ended()

    def _mark_ended(self) -> None:
        """Mark the host as lost after the end of the output: the probe or the connection ended."""
        status = self._process.wait(1.0)
        if self._closing.is_set() or (status is None and not self._process.is_connected()):
            self._mark_lost(f"{self.host.name}: the connection ended")
            return
        self.died = True
        end = "ended" if status is None else f"ended with status {status}"
        if status is not None:
            # A signal has the status -number, or 128 + number from a shell.
            number = -status if status < 0 else status - 128
            end = f"died (signal {number})" if 0 < number < 65 else end
        stderr, words = self._process.stderr_tail(), ""
        if stderr:
            words = f": {excerpt(stderr.splitlines()[-1], 200)}"
        elif self._first_skipped:
            words = f"; it printed {self._first_skipped}"
        self._mark_lost(f"{self.host.name}: the probe {end}{words}")

    def _deliver(self, record: Mapping[str, Any], now_s: float) -> None:
        """Validate a record and pass it to its request; the last record ends the request."""
        request_id = record.get("id")
        with self._lock:
            pending = self._pending.get(request_id) if isinstance(request_id, str) else None
        checked = None if pending is None else pending.answers.checked(record, now_s)
        if pending is None or checked is None:
            return
        if checked["type"] not in answers.STREAMING:
            with self._lock:
                self._pending.pop(pending.id, None)
        pending.deliver(checked)

    def _skip(self, line: bytes) -> None:
        self._skipped_bytes += len(line) + 1
        if line.strip():
            self.skipped_lines += 1
            self.last_skipped = repr(line[:80])[1:]
            self._first_skipped = self._first_skipped or self.last_skipped
        if self._skipped_bytes > SKIPPED_MOST:
            sample = self._first_skipped or "blank lines"
            self._refuse(f"prints endless output that is no record: {sample}")

    def _refuse(self, sentence: str) -> None:
        """Mark the host as lost and end its agent; running tests get an error ``bad-answer``."""
        with self._lock:
            tests = [pending for pending in self._pending.values() if pending.answers.is_test]
            for pending in tests:
                del self._pending[pending.id]
        self._mark_lost(f"{self.host.name}: {sentence}")
        for pending in tests:
            pending.deliver(answers.bad_answer({"id": pending.id}, f"it {sentence}"))
        self._process.kill()

    def _mark_lost(self, sentence: str) -> None:
        with self._lock:
            self._gone = self._gone or sentence
            requests = list(self._pending.values())
            self._pending.clear()
        for pending in requests:
            pending.deliver({"type": answers.GONE, "detail": self._gone})


def _in_thread(call: Callable[..., None], *args: Any) -> None:
    threading.Thread(target=call, args=args, daemon=True).start()
