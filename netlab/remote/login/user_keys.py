"""The keys for a login: key files, and the keys of ssh-agent."""

from __future__ import annotations

import base64
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paramiko
from paramiko.agent import AgentSSH, get_agent_connection
from paramiko.ssh_exception import PasswordRequiredException, SSHException

from netlab.errors import HostGone
from netlab.remote.login.chain import Chain, in_words
from netlab.remote.login.ssh_config import Endpoint

AGENT_S = 5.0
"""Time for ssh-agent to list its keys."""
TOUCH_S = 30.0
"""Time for ssh-agent to sign: a person may have to touch a key or to answer a dialog."""


class AgentSilent(SSHException):
    """ssh-agent does not answer in time."""


class KeyAgent(AgentSSH):
    """The keys of ssh-agent, if one runs; each whole answer has a time limit."""

    _conn: Any
    _connect: Callable[[Any], None]
    _close: Callable[[], None]

    def __init__(self, chain: Chain) -> None:
        super().__init__()
        self._chain = chain
        self._answer_s = AGENT_S
        self._give_up = 0.0
        self.asked_at: float | None = None
        """Start (monotonic, s) of the current wait for an answer; ``None``: there is no wait."""

    def open(self) -> None:
        """Connect and list the agent's keys.

        Raises AgentSilent if it does not answer in time, or any error if the peer is not an agent.
        """
        path = os.environ.get("SSH_AUTH_SOCK")
        if sys.platform == "win32":
            connection = get_agent_connection()
        elif path:
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._chain.hold(connection)
            connection.settimeout(AGENT_S)
            try:
                connection.connect(path)
            except (FileNotFoundError, ConnectionRefusedError):
                # The variable names an agent that has ended.
                self._chain.drop(connection)
                return
        else:
            return
        if connection is not None:
            self._connect(connection)
            self._answer_s = TOUCH_S

    def close(self) -> None:
        """Close the connection to it."""
        if self._conn is not None:
            self._chain.drop(self._conn)
        self._close()

    def _send_message(self, msg: Any) -> tuple[int, paramiko.Message]:
        self.asked_at = time.monotonic()
        self._give_up = self.asked_at + self._answer_s
        try:
            kind, answer = super()._send_message(msg)  # type: ignore[misc]
            return int(kind), answer
        except OSError as error:
            # A broken connection to the agent must not look like a broken connection to the host.
            raise SSHException(f"ssh-agent: {in_words(error)}") from None
        finally:
            self.asked_at = None

    def _read_all(self, byte_count: int) -> bytes:
        read = b""
        while len(read) < byte_count:
            if hasattr(self._conn, "settimeout"):
                self._conn.settimeout(max(0.001, self._give_up - time.monotonic()))
            try:
                part = self._conn.recv(byte_count - len(read))
            except TimeoutError:
                # Paramiko's own thread, which signs, cannot handle a TimeoutError.
                raise AgentSilent(f"no answer in {self._answer_s:g} s") from None
            if not part:
                raise SSHException("it ended the connection")
            read += part
        return read


@dataclass(frozen=True, slots=True)
class KeyFile:
    """The content of a key file, or why it has no key."""

    path: Path
    is_there: bool
    public: bytes | None
    """The public key in the file next to it."""
    key: paramiko.PKey | None
    fault: str = ""
    """Why there is no key, as a sentence."""

    @classmethod
    def read(cls, path: Path) -> KeyFile:
        """Read a key file; on a network drive that does not answer this may never end."""
        is_there, public = path.is_file(), None
        if not is_there:
            return cls(path, is_there, public, None, f"{path} does not exist")
        public = _public(path)
        try:
            return cls(path, is_there, public, paramiko.PKey.from_path(str(path)))
        except (PasswordRequiredException, TypeError):
            # The cryptography package raises TypeError for a missing passphrase.
            fault = f"{path} has a passphrase: add it to ssh-agent"
        except (SSHException, paramiko.pkey.UnknownKeyType, OSError, ValueError) as error:
            fault = f"{path} cannot be read: {error}"
        return cls(path, is_there, public, None, fault)


class UserKeys:
    """Keys to try at a host, each once, in OpenSSH's order: configured key files, the agent's keys,
    default key files.

    If the agent holds the key of a file, the agent's key is used: the file may have a passphrase.
    """

    def __init__(self, place: Endpoint, files: Sequence[KeyFile], chain: Chain) -> None:
        """``files``: the key files of ``place.identities``."""
        self._place = place
        self._files = files
        self.agent = KeyAgent(chain)
        self.hints: list[str] = []
        """Hints for a person if no key is accepted."""
        self._held: dict[bytes, paramiko.AgentKey] = {}
        self._done: set[bytes] = set()

    def __iter__(self) -> Iterator[tuple[str, paramiko.PKey]]:
        """Yields (name for messages, key) of each key to try."""
        place = self._place
        self._ask_agent()
        files = [file for file in self._files if file.is_there]
        if place.named:
            self.hints += [file.fault for file in self._files if not file.is_there]
            yield from self._of_files(files)
        if not place.only_named:
            for blob, key in self._held.items():
                if blob not in self._done:
                    self._done.add(blob)
                    yield f"{key.get_name()} of the agent", key
        if not place.named:
            yield from self._of_files(files)

    def _ask_agent(self) -> None:
        try:
            self.agent.open()
            self._held = {key.asbytes(): key for key in self.agent.get_keys()}
        except HostGone:
            raise
        except (AgentSilent, TimeoutError):
            self.hints.append(f"ssh-agent did not list its keys in {AGENT_S:g} s")
        except Exception as error:  # a fault of an agent is never more than a hint
            self.hints.append(f"ssh-agent does not answer ({in_words(error)})")

    def _of_files(self, files: Sequence[KeyFile]) -> Iterator[tuple[str, paramiko.PKey]]:
        for file in files:
            key = file.key if file.public is None else self._held.get(file.public, file.key)
            if key is None:
                self.hints.append(file.fault)
            elif key.asbytes() not in self._done:
                self._done.add(key.asbytes())
                yield str(file.path), key


def _public(path: Path) -> bytes | None:
    """The public key in the file next to a key file."""
    try:
        words = path.with_name(path.name + ".pub").read_text(encoding="utf-8").split()
        return base64.b64decode(words[1], validate=True)
    except (OSError, ValueError, IndexError):
        return None
