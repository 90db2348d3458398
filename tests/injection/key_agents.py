"""An ssh-agent of a test: it holds one key, and is as slow or mute as the test wants."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import paramiko

LIST, SIGN = 11, 13
LISTED, SIGNED = 12, 14


@contextlib.contextmanager
def key_agent(
    path: Path, key: Path, policy: Callable[[int], bool] = lambda _: True
) -> Iterator[None]:
    """Serve at ``path``; ``policy`` hears each request's number and says whether it is answered."""
    private_key = paramiko.PKey.from_path(str(key))
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen()
    connections: list[socket.socket] = []

    def serve(connection: socket.socket) -> None:
        with contextlib.suppress(OSError, struct.error):
            while True:
                (size,) = struct.unpack(">I", connection.recv(4, socket.MSG_WAITALL))
                request = connection.recv(size, socket.MSG_WAITALL)
                if policy(request[0]):
                    reply = _reply(private_key, request)
                    connection.sendall(struct.pack(">I", len(reply)) + reply)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connections.append(connection)
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept)
    thread.start()
    try:
        yield
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        for endpoint in (listener, *connections):
            with contextlib.suppress(OSError):
                endpoint.shutdown(socket.SHUT_RDWR)
            endpoint.close()


def _reply(key: paramiko.PKey, request: bytes) -> bytes:
    if request[0] == LIST:
        return bytes([LISTED]) + struct.pack(">I", 1) + _text(key.asbytes()) + _text(b"test")
    (size,) = struct.unpack_from(">I", request, 1)
    at = 5 + size
    (length,) = struct.unpack_from(">I", request, at)
    data = request[at + 4 : at + 4 + length]
    return bytes([SIGNED]) + _text(key.sign_ssh_data(data).asbytes())


def _text(raw: bytes) -> bytes:
    return struct.pack(">I", len(raw)) + raw
