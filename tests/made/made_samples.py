"""Streams made up for the tests of findings: nothing about them shows why they are not faster."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cached_property
from inspect import getattr_static
from typing import Any, TypeVar

from netlab.findings.derived import (
    StreamSample,
    TcpAccount,
)
from netlab.findings.stream_end import DerivedFigures, Losses, StreamEnd
from netlab.findings.traffic import OwnDrops
from netlab.trial.record import FlowValues, Record, Recorded, Status

Thing = TypeVar("Thing")
_NOTHING = FlowValues({}, "")
_RECORD = replace(
    Record.not_measured("a", 1, pairing="LL", test="stream", settings={}),
    status=Status.OK,
    reason=None,
)
_IDENTITY: dict[str, Any] = {
    **{"measured": _NOTHING, "record": _RECORD, "link": None, "cell": "a", "trial": 1},
    **{
        "pairing": "LL",
        "protocol": "",
        "message_bytes": 0,
        "flow": "",
        "throughput_bit_per_s": 0.0,
    },
    **{"same_host": False, "imported": False},
}


def changed(thing: Thing, **changes: Any) -> Thing:
    """The object with other values of its attributes, whether it stores or derives them."""
    if not isinstance(thing, DerivedFigures):
        return replace(thing, **changes)  # type: ignore[type-var]
    for name in changes:
        attribute = getattr_static(thing, name)
        assert not isinstance(attribute, property), f"{name} follows from other figures"
    return thing.but(**changes)


def end_of(**figures: Any) -> StreamEnd:
    return changed(StreamEnd(measured=_NOTHING), **figures)


def account_of(**figures: Any) -> TcpAccount:
    return changed(TcpAccount(measured=_NOTHING), **figures)


def losses_of(**figures: Any) -> Losses:
    return changed(Losses(measured=_NOTHING), **figures)


def sample_of(**figures: Any) -> StreamSample:
    return changed(StreamSample(**_IDENTITY), **figures)


def shown(thing: Any) -> Any:
    """Every figure that is recorded, or computed from the record, by its name."""
    if not isinstance(thing, DerivedFigures):
        return thing
    kind: Any = type(thing)
    names = {field.name for field in fields(kind)} - {"measured", "record", "link"}
    names |= {
        name
        for name, attribute in vars(kind).items()
        if isinstance(attribute, Recorded | cached_property) and not name.startswith("_")
    }
    return {name: shown(getattr(thing, name)) for name in sorted(names)}


SECOND_NS = 1_000_000_000
CEILING = 95_708_713.0
IDLE = end_of(
    host="a",
    window_ns=SECOND_NS,
    thread_ns=300_000_000,
    run_queue_delay_ns=1_000_000,
    quota_periods=0,
    throttled_periods=0,
    steal_share=0.0,
    busiest_core=0,
    busiest_core_share=0.4,
)
NONE_DROPPED = OwnDrops(
    sender_interface=0,
    sender_queue=0,
    sender_backlog=0,
    receiver_interface=0,
    receiver_backlog=0,
    reassembly=0,
)
ACCOUNT = account_of(
    busy_us=900_000,
    rwnd_limited_us=0,
    sndbuf_limited_us=0,
    retransmissions=0,
    window_bytes=3_000_000,
    min_rtt_us=200,
)


def udp(**figures: Any) -> StreamSample:
    """Half of the ceiling sent, all of it arrived, and nothing shows why it was not more."""
    sent_messages = figures.pop("sent", 4_000)
    lost_messages = figures.pop("lost", 0)
    defaults: dict[str, Any] = {
        "cell": "a",
        "pairing": "LL",
        "protocol": "UDP",
        "message_bytes": 1472,
        "throughput_bit_per_s": (sent_messages - lost_messages) * 1472 * 8.0,
        "ceiling_bit_per_s": CEILING,
        "highest_ceiling_bit_per_s": CEILING,
        "sender": IDLE,
        "receiver": IDLE,
        "calls": sent_messages,
        "send_buffer_bytes": 425_984,
        "queue_looks": 90,
        "queue_full_share": 0.0,
        "losses": losses_of(sent=sent_messages, lost=lost_messages, receive_queue=0, local=0),
        "drops": NONE_DROPPED,
        "packets_a_message": 1,
    }
    return sample_of(**(defaults | figures))


def tcp(**figures: Any) -> StreamSample:
    """The same over TCP."""
    defaults = {"protocol": "TCP", "losses": losses_of(), "packets_a_message": None, "tcp": ACCOUNT}
    return udp(**(defaults | figures))
