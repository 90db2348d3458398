"""The file of facts beside an imported table: what it states, or every fault with its place."""

from __future__ import annotations

from importing import import_one

TABLE = b"""pairing,protocol,message_bytes,socket_buffer_bytes,mbit_per_s
WL,TCP,1024,8192,94.13
LL,UDP,64,8192,48.58
"""


def one_input(data: bytes) -> None:
    import_one("table", TABLE, data)
