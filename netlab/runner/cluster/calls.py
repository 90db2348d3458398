"""Calls of functions at one dask worker, over the scheduler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from netlab.runner.cluster import sessions
from netlab.runner.cluster.channels import Delivery

if TYPE_CHECKING:
    import distributed


@dataclass(frozen=True, slots=True)
class WorkerCalls:
    """Calls for one session of a run at one worker; each raises an exception if it is lost."""

    client: distributed.Client
    address: str
    run: str

    def begin(self) -> str:
        """See ``sessions.begin``."""
        return cast(str, self._call(sessions.begin))

    def end(self) -> None:
        """See ``sessions.end``."""
        self._call(sessions.end)

    def write(self, requester: str, writes: Sequence[tuple[Any, ...]]) -> None:
        """See ``sessions.relay_write``."""
        self._call(sessions.relay_write, requester, writes)

    def take(self, requester: str, wait_s: float) -> Sequence[tuple[str, Delivery]]:
        """See ``sessions.relay_take``."""
        return cast(
            "Sequence[tuple[str, Delivery]]", self._call(sessions.relay_take, requester, wait_s)
        )

    def _call(self, function: Callable[..., Any], *words: Any) -> Any:
        answers = self.client.run(function, self.run, *words, workers=[self.address])
        return answers[self.address]
