"""Round trips between two hosts: the requests to the asking and the answering end, and their order.

    record `result` of the end that asks → stop the mirror, which is the end that answers → record
    `result` of the mirror

If an echo service (RFC 862) answers, the exchange has one end only. Then the server runs no agent,
or the matrix names a mirror that is not netlab's probe.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from netlab.experiment.hosts import Service
from netlab.experiment.kinds import Connect, RoundTrip
from netlab.measurement.conversation import (
    Conversation,
    ConversationEnd,
    destination,
    opened_by,
)
from netlab.measurement.ends import Ends
from netlab.measurement.flow import COUNT_DEADLINE_S, PROBE_SLACK_S
from netlab.measurement.requests import in_order, request_keys
from netlab.remote.agent import Agent
from netlab.remote.protocol import decimal

A_TRANSACTION_S = 0.01
"""Assumed time per round trip of a trial with a number of requests and without a rate. The deadline
is this time for all round trips, but at least ``COUNT_DEADLINE_S``."""

MIRROR_SLACK_S = 2.0
"""Time between the deadlines of the asking end and of the mirror, which must not end first."""

SILENCE_S = 10.0
"""If no answer arrives for this long and for ten time-outs, the trial ends. Otherwise each of many
requests to a silent host would take its own time-out."""

Asking = RoundTrip | Connect


@dataclass(slots=True)
class Exchange(Conversation):
    """Requests and answers between an asking end and a mirror, or an echo service."""

    silence_s: float = SILENCE_S
    trips: list[Mapping[str, Any]] = field(default_factory=list)
    """Records of single round trips, if they were requested."""

    @property
    def asker(self) -> ConversationEnd:
        """The end that asks."""
        return next(side for side in self.sides if side.verb == "ask")

    @property
    def mirror(self) -> ConversationEnd | None:
        """The end that answers; ``None`` if an echo service answers."""
        return next((side for side in self.sides if side.verb == "mirror"), None)

    def follow(self, side: ConversationEnd, record: Mapping[str, Any]) -> None:
        """Stop the mirror when the asking end has ended; end both if no answer comes at all."""
        mirror = self.mirror
        if record["type"] == "trips" and side is not mirror:
            self.trips.append(record)
        if record["type"] == "progress" and side is not mirror and not side.ended:
            elapsed_s = record.get("elapsed_ns", 0) / 1e9
            if record.get("messages", 1) == 0 and elapsed_s > self.silence_s:
                self.give_up(side, "no-answer", f"not one answer in {elapsed_s:.0f} s")
        if record["type"] == "result" and side is not mirror and mirror and not mirror.ended:
            self.stop(mirror)


def exchange_of(
    setup: Asking,
    ends: Ends,
    *,
    within_s: float | None = None,
    one_by_one: bool = False,
    echo: Service | None = None,
) -> Exchange:
    """The exchange for the settings of a cell. The client asks. The client also connects, unless a
    setting or a firewall requires that the server connects.

    A ``connect`` cell measures the client's connections, so the client always connects.
    ``within_s``: a deadline instead of ``deadline_s``. ``one_by_one``: report each round trip.
    ``echo``: an echo service that answers in place of the server's probe.
    """
    token = secrets.token_hex(16)
    client = ends.client
    limit_s = deadline_s(setup) if within_s is None else within_s
    asking = keys_of(setup, "ask", "client", client, token) | {"deadline": decimal(limit_s)}
    if one_by_one:
        asking["trips"] = 1
    if ends.server is None:
        echo = ends.mirror
    if echo is not None:
        del asking["token"]
        return Exchange(
            name="",
            connector=ConversationEnd(
                client, "ask", ends.address("client", setup), asking | {"peer": "echo"}
            ),
            listener=None,
            to=destination(echo.address, echo.port),
            connecting=request_keys(setup, client, "connect"),
            silence_s=_silence_s(setup),
        )
    server = ends.agent_of_server
    answering = keys_of(setup, "mirror", "server", server, token)
    answering["deadline"] = decimal(limit_s + MIRROR_SLACK_S)
    asker = ConversationEnd(client, "ask", ends.address("client", setup), asking)
    mirror = ConversationEnd(server, "mirror", ends.address("server", setup), answering)
    connects = ends.connects(setup.protocol) if isinstance(setup, RoundTrip) else "client"
    listener, connector = opened_by(connects, server=mirror, client=asker)
    return Exchange(
        name="",
        listener=listener,
        connector=connector,
        connecting=request_keys(setup, connector.agent, "connect"),
        silence_s=_silence_s(setup),
    )


_KEYS = (
    "kind proto token message response socket_buffer congestion nodelay dscp dont_fragment "
    "no_checksum seconds count warm_up message_rate keep spin cpu close outstanding timeout hold "
    "stamps"
)


def keys_of(setup: Asking, verb: str, end: str, agent: Agent, token: str) -> dict[str, Any]:
    """Keys of the request to an end, except its deadline and the keys that say how the connection
    is opened.
    """
    keys: dict[str, Any] = {
        "kind": "round_trip" if isinstance(setup, RoundTrip) else "connect",
        "proto": setup.protocol.lower(),
        "token": token,
        "response": setup.message_bytes if setup.response_bytes is None else setup.response_bytes,
    }
    return in_order(keys | request_keys(setup, agent, verb, end), _KEYS)


def _silence_s(setup: Asking) -> float:
    timeout_s = setup.timeout_s if isinstance(setup, RoundTrip) else 0.0
    return setup.warm_up_s + max(SILENCE_S, 10 * timeout_s)


def deadline_s(setup: Asking) -> float:
    """Time limit in seconds of a trial with these settings at the asking end."""
    if setup.duration_s is not None:
        return setup.warm_up_s + setup.duration_s + PROBE_SLACK_S
    count = setup.count or 0
    if setup.message_rate_per_s is not None:
        return setup.warm_up_s + count / setup.message_rate_per_s + PROBE_SLACK_S
    return setup.warm_up_s + max(COUNT_DEADLINE_S, count * A_TRANSACTION_S)
