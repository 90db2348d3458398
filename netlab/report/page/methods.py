"""Readings → what the figures of a report mean, and what could not be known: prose. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from netlab.experiment.matrix import Link
from netlab.messages import _, joined
from netlab.results.readings import Reading


def methods(
    readings: Sequence[Reading], link: Link | None, *, source: str | None
) -> tuple[str, ...]:
    """What the figures mean, and what could not be known: a sentence or two a paragraph."""
    said = list(_IMPORTED if source is not None else _MEASURED)
    said.append(_MEANS)
    if len(readings) > len({reading.cell for reading in readings}):
        said.append(_REPEATS)
    said.append(_WITH_LINK if link is not None else _WITHOUT_LINK)
    if any(reading.settings.get("direction") == "both" for reading in readings):
        said.append(_BOTH)
    if any(reading.same_host for reading in readings):
        said.append(_SAME_HOST)
    turned = {
        _("{protocol} of {pairing}", protocol=reading.protocol, pairing=reading.pairing): None
        for reading in readings
        if "opening" not in reading.settings
        and any(flow.connected_by == "server" for flow in reading.flows.values())
    }
    if turned:
        said.append(
            _(
                "Where a firewall lets nothing in to the server, it is the server that connects. "
                "It then decides about TCP timestamps, and with them about the MSS ({streams}).",
                streams=joined(", ", turned),
            )
        )
    return tuple(said)


_MEASURED = (
    _(
        "Throughput is the payload that the receiver took in between two of its own receive calls, "
        "divided by the time between them on the receiver’s clock. The call that starts the clock "
        "is not counted. Mbit/s means 10⁶ bit/s."
    ),
    _(
        "Message size is what one send call hands over. TCP has no packets, and a UDP message may "
        "be several frames. A socket buffer is what was asked of both buffers at both ends; what "
        "each system made of it stands in the exported table (netlab export)."
    ),
    _(
        "A UDP message is lost when its sequence number never arrived: sent = received + lost, "
        "over the whole test and after the queues have drained."
    ),
)
_IMPORTED = (
    _(
        "These figures were printed in a document and are kept digit for digit; netlab measured "
        "none of them. Mbit/s means 10⁶ bit/s, which the document may write otherwise."
    ),
    _(
        "What the document does not say is not known here: TCP options and segment size, the "
        "buffers in effect, lost messages, the facts of the hosts. A place that it leaves empty "
        "was not measured; it is blank, and enters no mean as a zero."
    ),
)
_MEANS = _(
    "A blank is never a zero: its footnote tells why there is no figure. Means and medians are "
    "taken over the cells that have one, and their number stands in parentheses; it differs from "
    "column to column, and so does what a mean is worth."
)
_REPEATS = _(
    "The figure of a cell is the mean of its trials, their number in parentheses. The interval of "
    "that mean is Student’s t on the trials, from three of them upwards."
)
_WITH_LINK = _(
    "The wire ceiling is the most payload that Ethernet framing leaves: preamble, header, checksum "
    "and gap of each frame, IP and transport headers, the fragments of a long UDP message. "
    "Clocks differ, so a figure counts as above it only beyond 0.1 % (0.2 % for printed tables). "
    "Acknowledgements are not counted; with data both ways it is an upper bound."
)
_WITHOUT_LINK = _("The link’s rate was not stated, so there are no wire ceilings.")
_BOTH = _(
    "Tests that send both ways have two receivers with a clock each: each direction has its own "
    "columns, and they are not added."
)
_SAME_HOST = _(
    "Where server and client are the same host, no cable was touched: such pairings are labelled, "
    "have no wire ceiling, and stay out of averages with others."
)
