"""Tables and pictures → index.html: one file that opens offline and prints."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from netlab.header import LinkLike
from netlab.records import Status
from netlab.report import coverage
from netlab.report.nouns import Chart, Part, Row, Table
from netlab.report.plots import Picture
from netlab.report.readings import Reading
from netlab.report.tables import Section
from netlab.report.words import count, printable
from netlab.units import format_rate
from netlab.version import VERSION

if TYPE_CHECKING:
    from netlab.frame import Run

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a page is made of."""

    run: Run
    readings: tuple[Reading, ...]
    overviews: tuple[Table, ...]
    sections: tuple[Section, ...]
    parts: tuple[Part, ...]
    """What further rooms have to say, in the page's order."""
    pictures: tuple[Picture, ...]
    left_out: int
    """Diagrams that were not drawn because there would be too many."""


def page(contents: Contents) -> str:
    """The page as HTML. Everything that a host, a person or a file said is escaped."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        finalize=_finalize,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "capitalize_first": _capitalize_first,
        "data_uri": _data_uri,
        "parts": _row_groups,
    }
    run, readings = contents.run, contents.readings
    pictures = {picture.chart.name: picture for picture in contents.pictures}
    of_parts = {chart.name for part in contents.parts for chart in part.charts}
    of_streams = [
        (picture, picture.chart)
        for name, picture in pictures.items()
        if name not in of_parts and isinstance(picture.chart, Chart)
    ]
    found = coverage.hosts(run)
    return environment.get_template("page.html.j2").render(
        style=(_HERE / "page.css").read_text(encoding="utf-8"),
        version=VERSION,
        plan=run.plan,
        summary=coverage.summary(readings),
        overviews=contents.overviews,
        sections=contents.sections,
        by_size=[picture for picture, chart in of_streams if chart.log_x],
        by_row=[picture for picture, chart in of_streams if not chart.log_x],
        sections_further=[
            (part, [pictures[chart.name] for chart in part.charts]) for part in contents.parts
        ],
        left_out=contents.left_out,
        statuses=[str(status) for status in Status],
        counts=coverage.counts(readings),
        blanks=coverage.blanks(readings),
        again=sum(1 for reading in readings if (reading.attempt or 1) > 1),
        damage=[str(each) for each in run.damage],
        hosts=found,
        shared=coverage.shared_machines(found),
        sessions=coverage.sessions(run),
        settings=coverage.settings(readings),
        trials=coverage.trials(run.plan),
        link=link_words(run.plan.link),
        methods=methods(readings, run.plan.link, source=run.plan.source),
    )


def methods(
    readings: Sequence[Reading], link: LinkLike | None, *, source: str | None
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
        f"{reading.protocol} of {reading.pairing}": None
        for reading in readings
        if any(flow.connected_by == "server" for flow in reading.flows.values())
    }
    if turned:
        said.append(f"{_CONNECTED_BY_SERVER} ({', '.join(turned)}).")
    return tuple(said)


def link_words(link: LinkLike | None) -> str:
    """``100.00 Mbit/s, MTU 1500 bytes``; says so where it is not known."""
    if link is None:
        return "not stated"
    tag = ", with a VLAN tag" if link.vlan else ""
    between = f", {count(link.hops, 'router')} between the hosts" if link.hops else ""
    return f"{format_rate(link.rate_bit_per_s)}, MTU {link.mtu_bytes} bytes{tag}{between}"


def _finalize(value: object) -> object:
    """What a host or a file said, without terminal escapes and what turns text around."""
    return printable(value, keep="\n\t") if type(value) is str else value


def _data_uri(svg: bytes) -> str:
    from markupsafe import Markup

    data = base64.b64encode(svg).decode("ascii")
    return Markup("data:image/svg+xml;base64,") + Markup(data)  # noqa: S704 - base64 needs no escape


def _capitalize_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def _row_groups(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """The rows as a table's body and, where rows sum up those above, its foot."""
    body = [row for row in rows if row.kind == "value"]
    rest = [row for row in rows if row.kind != "value"]
    return [("tbody", body), *([("tfoot", rest)] if rest else [])] if body else [("tbody", rest)]


_MEASURED = (
    "Throughput is the payload that the receiver took in between two of its own receive calls, "
    "divided by the time between them on the receiver’s clock. The call that starts the clock is "
    "not counted. Mbit/s means 10⁶ bit/s.",
    "Message size is what one send call hands over. TCP has no packets, and a UDP message may be "
    "several frames. A socket buffer is what was asked of both buffers at both ends; what each "
    "system made of it stands in the exported table (netlab export).",
    "A UDP message is lost when its sequence number never arrived: sent = received + lost, over "
    "the whole test and after the queues have drained.",
)
_IMPORTED = (
    "These figures were printed in a document and are kept digit for digit; netlab measured none "
    "of them. Mbit/s means 10⁶ bit/s, which the document may write otherwise.",
    "What the document does not say is not known here: TCP options and segment size, the buffers "
    "in effect, lost messages, the facts of the hosts. A place that it leaves empty was not "
    "measured; it is blank, and enters no mean as a zero.",
)
_MEANS = (
    "A blank is never a zero: its footnote tells why there is no figure. Means and medians are "
    "taken over the cells that have one, and their number stands in parentheses; it differs from "
    "column to column, and so does what a mean is worth."
)
_REPEATS = (
    "The figure of a cell is the mean of its trials, their number in parentheses. The interval of "
    "that mean is Student’s t on the trials, from three of them upwards."
)
_WITH_LINK = (
    "The wire ceiling is the most payload that Ethernet framing leaves: preamble, header, checksum "
    "and gap of each frame, IP and transport headers, the fragments of a long UDP message. "
    "Clocks differ, so a figure counts as above it only beyond 0.1 % (0.2 % for printed tables). "
    "Acknowledgements are not counted; with data both ways it is an upper bound."
)
_WITHOUT_LINK = "The link’s rate was not stated, so there are no wire ceilings."
_BOTH = (
    "Tests that send both ways have two receivers with a clock each: each direction has its own "
    "columns, and they are not added."
)
_CONNECTED_BY_SERVER = (
    "Where a firewall lets nothing in to the server, it is the server that connects. It then "
    "decides about TCP timestamps, and with them about the MSS"
)
_SAME_HOST = (
    "Where server and client are the same host, no cable was touched: such pairings are labelled, "
    "have no wire ceiling, and stay out of averages with others."
)
