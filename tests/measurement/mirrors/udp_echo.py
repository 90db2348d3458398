"""An echo over UDP and TCP for tests: udp_echo.py ADDRESS PORT [ANSWERS]; it ends after ANSWERS."""

import socket
import sys
import threading

address, port, *limit = sys.argv[1:]
answers_most = int(limit[0]) if limit else 10**9
family = socket.AF_INET6 if ":" in address else socket.AF_INET


def serve_tcp(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=echo, args=[connection], daemon=True).start()


def echo(connection: socket.socket) -> None:
    try:
        while received := connection.recv(65536):
            connection.sendall(received)
    except OSError:
        pass


listener = socket.create_server((address, int(port)), family=family)
threading.Thread(target=serve_tcp, args=[listener], daemon=True).start()
with socket.socket(family, socket.SOCK_DGRAM) as mirror:
    mirror.bind((address, int(port)))
    for _ in range(answers_most):
        message, sender = mirror.recvfrom(65536)
        mirror.sendto(message, sender)
sys.exit("out of answers")
