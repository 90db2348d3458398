"""The kinds of test ``round_trip`` and ``connect``: requests, and the answers of a mirror."""

from netlab.kinds.kind import KindOfTest
from netlab.kinds.round_trip.settings import Connect, RoundTrip
from netlab.messages import _
from netlab.trial.column import time_of

ROUND_TRIP = KindOfTest(
    name=_("round_trip"),
    settings=RoundTrip,
    about="Requests from the client, answered by the server's mirror: latency.",
    subject=_("the time of round trips"),
    label=_("round trips"),
    quantities={"rtt_mean_ns": time_of(_("mean round trip"), "rtt_mean_ns")},
    expects=frozenset({"round_trip", "loss"}),
    columns="columns:OF_ROUND_TRIP",
    procedure="exchange",
)

CONNECT = KindOfTest(
    name=_("connect"),
    settings=Connect,
    about="Transactions with a TCP connection each: the cost of connecting.",
    subject=_("the time of TCP connections"),
    label=_("connections"),
    quantities={"rtt_mean_ns": time_of(_("mean transaction"), "rtt_mean_ns")},
    expects=frozenset({"round_trip"}),
    columns="columns:OF_CONNECT",
    procedure="exchange",
)
