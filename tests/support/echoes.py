"""An echo without an agent (RFC 862), UDP and TCP at one port, for tests.

As a program it echoes at an address until its input ends: ``python echoes.py ADDRESS PORT``.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

HOST = "127.0.0.1"


@contextmanager
def echo(
    address: str = HOST, port: int = 0, *, tcp: bool = True, udp: bool = True
) -> Iterator[int]:
    """The port of an echo that lives as long as the context; a protocol may be left out."""
    listener, datagrams = _at_one_port(address, port)
    with listener, datagrams:
        port = int(listener.getsockname()[1])
        doors = [(_answer_tcp, listener)] * tcp + [(_answer_udp, datagrams)] * udp
        if not tcp:
            listener.close()
        if not udp:
            datagrams.close()
        threads = [
            threading.Thread(target=responder, args=(door,), daemon=True)
            for responder, door in doors
        ]
        for thread in threads:
            thread.start()
        try:
            yield port
        finally:
            for _, door in doors:
                with contextlib.suppress(OSError):
                    door.shutdown(socket.SHUT_RDWR)
                door.close()
            for thread in threads:
                thread.join(5)


def _at_one_port(address: str, port: int) -> tuple[socket.socket, socket.socket]:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    while True:
        listener = socket.create_server((address, port), family=family)
        datagrams = socket.socket(family, socket.SOCK_DGRAM)
        try:
            datagrams.bind((address, listener.getsockname()[1]))
        except OSError:
            listener.close()
            datagrams.close()
            if port:
                raise
            continue
        return listener, datagrams


def _answer_udp(datagrams: socket.socket) -> None:
    datagrams.settimeout(0.2)
    while datagrams.fileno() != -1:
        try:
            data, sender = datagrams.recvfrom(65535)
            datagrams.sendto(data, sender)
        except TimeoutError:
            continue
        except OSError:
            return


def _answer_tcp(listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_answer_one, args=(connection,), daemon=True).start()


def _answer_one(connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):
        while data := connection.recv(65536):
            connection.sendall(data)


if __name__ == "__main__":
    with echo(sys.argv[1], int(sys.argv[2])):
        print("ready", flush=True)
        sys.stdin.read()
