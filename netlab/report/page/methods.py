"""Records → paragraphs on the meaning of a report's figures, and on unknown facts. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a trial is one
measurement of a cell, and a record is the data of one trial.
"""

from __future__ import annotations

from collections.abc import Sequence

from netlab.experiment.matrix import Link
from netlab.experiment.records import Record
from netlab.messages import _, joined


def methods(records: Sequence[Record], link: Link | None, *, source: str | None) -> tuple[str, ...]:
    """A paragraph for each kind of figure, and for each unknown fact."""
    paragraphs = list(_IMPORTED if source is not None else _MEASURED)
    paragraphs.append(_MEANS)
    if len(records) > len({record.cell for record in records}):
        paragraphs.append(_REPEATS)
    paragraphs.append(_WITH_LINK if link is not None else _WITHOUT_LINK)
    engines = dict.fromkeys(
        str(record.settings["engine"]) for record in records if "engine" in record.settings
    )
    if engines:
        paragraphs.append(
            _(
                "The figures of {engines} are those that the tool printed for its receiver, by the "
                "tool’s own clock. The details of a cell have the tool’s version, and what it did "
                "otherwise than the cell requests.",
                engines=joined(", ", engines),
            )
        )
    if any(record.settings.get("direction") == "both" for record in records):
        paragraphs.append(_BOTH)
    if any(record.same_host for record in records):
        paragraphs.append(_SAME_HOST)
    streams = {
        _("{protocol} of {pairing}", protocol=record.protocol, pairing=record.pairing): None
        for record in records
        if "opening" not in record.settings
        and any(flow.connected_by == "server" for flow in record.flows.values())
    }
    if streams:
        paragraphs.append(
            _(
                "Where a firewall blocks connections to the server, the server connects "
                "instead. It then decides whether TCP timestamps are used, which changes the "
                "MSS ({streams}).",
                streams=joined(", ", streams),
            )
        )
    return tuple(paragraphs)


_MEASURED = (
    _(
        "Throughput is the payload that the receiver read between two of its receive "
        "calls, divided by the time between them on the receiver’s clock. The bytes of "
        "the call that starts the clock are not counted. Mbit/s means 10⁶ bit/s."
    ),
    _(
        "Message size is the number of bytes handed to one send call. TCP has no "
        "packets, and a UDP message may be several frames. The socket buffer is the "
        "size requested for both buffers at both ends. The exported table (netlab "
        "export) has the effective sizes."
    ),
    _(
        "A UDP message is lost if its sequence number never arrives: sent = received + "
        "lost, over the whole test and after the queues have drained."
    ),
)
_IMPORTED = (
    _(
        "These figures come from a document and are kept digit for digit; netlab "
        "measured none of them. Mbit/s means 10⁶ bit/s; the document may write it "
        "differently."
    ),
    _(
        "What the document does not state is unknown: TCP options and segment size, "
        "effective buffer sizes, lost messages, facts of the hosts. A place that it "
        "leaves empty was not measured. It stays blank, and no mean counts it as zero."
    ),
)
_MEANS = _(
    "A blank is never a zero: its footnote states why there is no figure. Means and "
    "medians are taken over the cells that have a figure; the number of these "
    "cells is in parentheses. It differs between columns, and a mean of few cells "
    "is less certain."
)
_REPEATS = _(
    "The figure of a cell is the mean of its trials; their number is in "
    "parentheses. From three trials upwards the mean has an interval, by Student’s "
    "t on the trials."
)
_WITH_LINK = _(
    "The wire ceiling is the highest payload rate that the link’s framing allows. "
    "It takes into account preamble, header, checksum and gap of each frame, IP and "
    "transport headers, and the fragments of a long UDP message. Clocks differ, so "
    "a figure counts as above the ceiling only if it exceeds it by more than 0.1 % "
    "(0.2 % for printed tables). Acknowledgements are not counted: if data flows "
    "both ways, the ceiling is an upper bound."
)
_WITHOUT_LINK = _("The link’s rate was not stated, so there are no wire ceilings.")
_BOTH = _(
    "Tests that send both ways have two receivers, each with its own clock. Each "
    "direction has its own columns; the directions are not added."
)
_SAME_HOST = _(
    "If server and client are the same host, the traffic crosses no cable. Such "
    "pairings are labelled, have no wire ceiling, and are not averaged with others."
)
