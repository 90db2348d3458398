"""An SSH server within this process that says nothing any more after its n-th message.

It speaks SSH by paramiko, runs commands in a folder that is its home, and serves the files in it.
What it would say after its last message is swallowed; it still reads, and notices when a client
closes. So every stage of a run can be the one at which a host falls silent.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import paramiko
from paramiko.common import AUTH_SUCCESSFUL, OPEN_SUCCEEDED
from paramiko.sftp import SFTP_FAILURE, SFTP_OK

STAGES = ("banner", "kex", "auth", "exec", "sftp", "greeting", "checks", "facts", "trial")
"""What a server is asked for, in the order of a run; its messages are counted to one of them."""
_VERBS = {b"hello": "greeting", b"lock": "checks", b"facts": "facts"}
YES_S = 0.1
logging.getLogger("paramiko").addHandler(logging.NullHandler())  # clients hang up: no word of it


@dataclass(frozen=True, slots=True)
class Said:
    """One message of the server."""

    stage: str
    after_s: float
    """Since ``begin``."""


@dataclass
class StallingServer:
    """The server; ``begin`` a run, and what it says until its silence is in ``said``."""

    home: Path
    most: int | None = None
    """So many messages are said, over all connections; ``None``: all."""
    said: list[Said] = field(default_factory=list)
    key: paramiko.PKey = field(default_factory=paramiko.ECDSAKey.generate)

    def __post_init__(self) -> None:
        self.home.mkdir(parents=True, exist_ok=True)
        self._began = time.monotonic()
        self._stage = STAGES[0]
        self._turn = threading.Lock()
        self._open: list[paramiko.Transport] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def known(self) -> str:
        """Its line of known_hosts."""
        return f"[127.0.0.1]:{self.port} {self.key.get_name()} {self.key.get_base64()}\n"

    def begin(self, most: int | None) -> None:
        """Say so much from now on, to whoever comes."""
        self.hang_up()
        self._began = time.monotonic()
        self._stage = STAGES[0]
        self.most = most
        self.said = []

    def reach(self, stage: str) -> None:
        """What is said next is of that stage, where it is a later one."""
        if STAGES.index(stage) > STAGES.index(self._stage):
            self._stage = stage

    def hear(self, verb: bytes) -> None:
        """The agent is asked; what it is asked after the facts is of trials."""
        self.reach("trial" if self._stage == "facts" else _VERBS.get(verb, STAGES[0]))

    def may_say(self) -> bool:
        """Count one message; whether it may be said."""
        with self._turn:
            if self.most is not None and len(self.said) >= self.most:
                return False
            self.said.append(Said(self._stage, time.monotonic() - self._began))
            if self._stage == "banner":
                self._stage = "kex"
            return True

    @property
    def is_silent(self) -> bool:
        """Whether it has said all that it may."""
        return self.most is not None and len(self.said) >= self.most

    def hang_up(self) -> None:
        """Close every connection; what runs by them has no input any more."""
        for connection in self._open:
            connection.close()
        self._open.clear()

    def close(self) -> None:
        """End it."""
        self._listener.close()
        self.hang_up()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            transport = paramiko.Transport(_Counted(connection, self))  # type: ignore[arg-type]
            transport.add_server_key(self.key)
            transport.set_subsystem_handler("sftp", paramiko.SFTPServer, _Files, self)
            transport.daemon = True
            self._open.append(transport)
            with contextlib.suppress(paramiko.SSHException, EOFError, OSError):
                transport.start_server(event=threading.Event(), server=_Login(self))


class _Counted:
    """A socket whose messages are counted, and swallowed once there were enough."""

    def __init__(self, connection: socket.socket, server: StallingServer) -> None:
        self._connection = connection
        self._server = server

    def send(self, data: bytes) -> int:
        return self._connection.send(data) if self._server.may_say() else len(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class _Login(paramiko.ServerInterface):
    """Takes any key, and runs any command in the server's home."""

    def __init__(self, server: StallingServer) -> None:
        self._server = server

    def get_allowed_auths(self, username: str) -> str:
        self._server.reach("auth")
        return "publickey"

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        self._server.reach("auth")
        return AUTH_SUCCESSFUL

    def check_channel_request(self, kind: str, chanid: int) -> int:
        self._server.reach("exec")
        return OPEN_SUCCEEDED

    def check_channel_subsystem_request(self, channel: paramiko.Channel, name: str) -> bool:
        self._server.reach("sftp")
        return super().check_channel_subsystem_request(channel, name)

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        # paramiko says yes after this method: a quick command would close the channel before that.
        threading.Timer(YES_S, self._run, (channel, command)).start()
        return True

    def _run(self, channel: paramiko.Channel, command: bytes) -> None:
        child = subprocess.Popen(
            ["/bin/sh", "-c", b"exec " + command],
            cwd=self._server.home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
        )
        for work in (self._hand_in, self._hand_out):
            threading.Thread(target=work, args=(channel, child), daemon=True).start()

    def _hand_in(self, channel: paramiko.Channel, child: subprocess.Popen[bytes]) -> None:
        """Input to the command, until its end."""
        assert child.stdin is not None
        with contextlib.suppress(OSError):
            while data := channel.recv(65536):
                for verb in re.findall(rb"^\d+ (\w+)", data, re.MULTILINE):
                    self._server.hear(verb)
                child.stdin.write(data)
        with contextlib.suppress(OSError):
            child.stdin.close()

    def _hand_out(self, channel: paramiko.Channel, child: subprocess.Popen[bytes]) -> None:
        """Output of the command, and its exit status."""
        assert child.stdout is not None
        with contextlib.suppress(OSError), child.stdout:
            while data := child.stdout.read(65536):
                channel.sendall(data)
        status = child.wait()
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            channel.send_exit_status(status)
            channel.close()


class _Files(paramiko.SFTPServerInterface):
    """The files of the server's home, which is its root as well."""

    def __init__(self, login: paramiko.ServerInterface, server: StallingServer) -> None:
        super().__init__(login)
        self._home = server.home

    def _at(self, path: str) -> Path:
        return self._home / os.path.normpath(f"/{path}").lstrip("/")

    def stat(self, path: str) -> paramiko.SFTPAttributes | int:
        with _as_status() as status:
            return paramiko.SFTPAttributes.from_stat(self._at(path).stat())
        return status[0]

    def lstat(self, path: str) -> paramiko.SFTPAttributes | int:
        with _as_status() as status:
            return paramiko.SFTPAttributes.from_stat(self._at(path).lstat())
        return status[0]

    def list_folder(self, path: str) -> list[paramiko.SFTPAttributes] | int:
        with _as_status() as status:
            return [
                paramiko.SFTPAttributes.from_stat(entry.lstat(), entry.name)
                for entry in self._at(path).iterdir()
            ]
        return status[0]

    def open(
        self, path: str, flags: int, attr: paramiko.SFTPAttributes
    ) -> paramiko.SFTPHandle | int:
        with _as_status() as status:
            file = os.fdopen(os.open(self._at(path), flags, 0o600), "r+b" if flags & 3 else "rb")
            handle = paramiko.SFTPHandle(flags)
            handle.readfile = handle.writefile = file  # type: ignore[attr-defined]
            return handle
        return status[0]

    def mkdir(self, path: str, attr: paramiko.SFTPAttributes) -> int:
        with _as_status() as status:
            self._at(path).mkdir(0o700)
        return status[0]

    def remove(self, path: str) -> int:
        with _as_status() as status:
            self._at(path).unlink()
        return status[0]

    def rename(self, oldpath: str, newpath: str) -> int:
        with _as_status() as status:
            self._at(oldpath).rename(self._at(newpath))
        return status[0]

    posix_rename = rename

    def chattr(self, path: str, attr: paramiko.SFTPAttributes) -> int:
        with _as_status() as status:
            if attr.st_mode is not None:
                self._at(path).chmod(attr.st_mode & 0o7777)
        return status[0]


@contextlib.contextmanager
def _as_status() -> Iterator[list[int]]:
    """What the block left: SFTP's word for well, or for the error that ended it."""
    status = [SFTP_OK]
    try:
        yield status
    except OSError as error:
        number = error.errno
        status[0] = SFTP_FAILURE if number is None else paramiko.SFTPServer.convert_errno(number)
