"""Streams made up for the tests of findings: nothing about them shows why they are not faster."""

from __future__ import annotations

from typing import Any

from netlab.findings.sample import Losses, OwnDrops, StreamEnd, StreamSample, TcpAccount

SECOND_NS = 1_000_000_000
CEILING = 95_708_713.0
IDLE = StreamEnd(
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
ACCOUNT = TcpAccount(
    busy_us=900_000,
    rwnd_limited_us=0,
    sndbuf_limited_us=0,
    retransmissions=0,
    window_bytes=3_000_000,
    min_rtt_us=200,
)


def udp(**fields: Any) -> StreamSample:
    """Half of the ceiling sent, all of it arrived, and nothing shows why it was not more."""
    sent_messages = fields.pop("sent", 4_000)
    lost_messages = fields.pop("lost", 0)
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
        "losses": Losses(sent=sent_messages, lost=lost_messages, receive_queue=0, local=0),
        "drops": NONE_DROPPED,
        "packets_a_message": 1,
    }
    return StreamSample(**(defaults | fields))


def tcp(**fields: Any) -> StreamSample:
    """The same over TCP."""
    defaults = {"protocol": "TCP", "losses": Losses(), "packets_a_message": None, "tcp": ACCOUNT}
    return udp(**(defaults | fields))
