"""A worker without dask: its functions in an event loop of their own, called as dask calls them."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Coroutine, Sequence
from typing import Any, Self, TypeVar

from netlab.runner.cluster import worker
from netlab.runner.cluster.relay import Delivery, Relay
from netlab.runner.cluster.worker import SPINE, ResidentRun

T = TypeVar("T")


class LoopWorker:
    """Calls the functions of a worker in a loop; after ``lost`` is set, each call fails."""

    def __init__(self) -> None:
        self.run = secrets.token_hex(4)
        self.lost = False
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.version = self.call(worker.begin(self.run))
        self.relays: list[Relay] = []

    def call(self, function: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(function, self.loop).result(60)

    @property
    def resident(self) -> ResidentRun:
        return worker.resident_of(self.run)

    def relay(self, requester: str = SPINE) -> Relay:
        relay = Relay(self, requester, "tls://192.0.2.1:4242")
        self.relays.append(relay)
        return relay

    def write(self, requester: str, writes: Sequence[tuple[Any, ...]]) -> None:
        self._fail_if_lost()
        self.call(worker.relay_write(self.run, requester, writes))

    def take(self, requester: str, wait_s: float) -> Sequence[tuple[str, Delivery]]:
        self._fail_if_lost()
        items = self.call(worker.relay_take(self.run, requester, min(wait_s, 0.2)))
        self._fail_if_lost()
        return items

    def _fail_if_lost(self) -> None:
        if self.lost:
            raise OSError("Stream is closed")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for relay in self.relays:
            relay.close()
        self.call(worker.end(self.run))
        time.sleep(0.3)  # the last calls of the relays
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(60)
        self.loop.close()
