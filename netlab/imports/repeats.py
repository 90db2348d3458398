"""Import: a run folder out of a table of repeated tests, each with its elapsed time.

A document about the tool nettest has such a table. Throughput and the mean round trip are derived
from the time, as in the document.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Unpack

from netlab.errors import UsageError
from netlab.ethernet import TIMESTAMPS_BYTES, mss_of
from netlab.imports import CommandOption, Importer
from netlab.imports.common import csv_table
from netlab.store.plan import PlannedCell
from netlab.trial.record import Value

TESTS: Mapping[str, tuple[str, str]] = {
    "tcp_ping": ("round_trip", "TCP"),
    "udp_ping": ("round_trip", "UDP"),
    "tcp_blast": ("stream", "TCP"),
    "udp_blast": ("stream", "UDP"),
}
"""Word in the table → kind of test and protocol. A ping has one request in flight."""

MAX_TRIAL = 1000
MIN_ELAPSED_S, MAX_ELAPSED_S = Decimal(10) ** -9, Decimal(10**7)


@dataclass(frozen=True, slots=True)
class Repeat:
    """One row of the table."""

    place: tuple[str, int, int]
    """What all repeats of a cell share: a key of ``TESTS``, message size in bytes, messages."""
    trial: int
    printed: str  # the elapsed seconds as printed; empty if nothing was measured
    lost_packets: int | None


def import_repeats(
    csv_path: Path,
    into: Path,
    *,
    pairing: str = "LL",
    mss_bytes: int | None = None,
    hops: int | None = None,
    **context: Unpack[csv_table.TableContext],
) -> Path:
    """Make the run folder ``into`` out of a table of repeats. ``pairing`` (letters, server first),
    ``link``, ``mss_bytes`` and ``hops`` (routers) are what the document states elsewhere. Raises
    the errors of ``import_table``.
    """
    link = context.get("link")
    if link is not None and hops is not None:
        context["link"] = link = replace(link, hops=hops)
    source = csv_table.read_source(csv_path, **context)
    rows = source.rows(FORM)
    limit = None if link is None else mss_of(link.mtu_bytes, timestamps=False)
    if mss_bytes is not None and limit is not None and not 1 <= mss_bytes <= limit:
        raise UsageError(f"an MSS of {mss_bytes} bytes: the link's MTU allows 1 to {limit}")
    repeats = max(row.trial for row in rows)
    cells = {}
    for place in dict.fromkeys(row.place for row in rows):
        word, message_bytes, messages = place
        test, protocol = TESTS[word]
        own = max(row.trial for row in rows if row.place == place)
        cells[place] = csv_table.cell_of(
            pairing,
            test,
            {"protocol": protocol, "message_bytes": message_bytes, "count": messages},
            (protocol.lower(), str(message_bytes), "auto"),
            None if own == repeats else own,
        )
    content: dict[str, object] = {"cells": [cell.key for cell in cells.values()]}
    if mss_bytes is not None:
        content["mss_bytes"] = mss_bytes
    records = []
    for row in rows:
        cell = cells[row.place]
        values = _values(row, cell) if row.printed else {}
        if row.printed and mss_bytes is not None and cell.settings["protocol"] == "TCP":
            values["mss_bytes"] = mss_bytes
            if limit is not None:
                values["tcp_timestamps"] = mss_bytes <= limit - TIMESTAMPS_BYTES
        records.append(csv_table.record_of(cell, values, printed=row.printed, trial=row.trial))
    return csv_table.write_run(
        into, source, cells.values(), records, content=content, repeats=repeats
    )


def _test(text: str) -> str:
    if text not in TESTS:
        raise ValueError(f"{csv_table.shown(text)} is not one of {', '.join(TESTS)}")
    return text


def _time(text: str) -> str:
    if text and not MIN_ELAPSED_S <= csv_table.decimal_of(text, "seconds") <= MAX_ELAPSED_S:
        raise ValueError(
            f"{text} s cannot be the time of a test; leave the field empty if the time is unknown"
        )
    return text


def _wrong_loss(_: Mapping[str, Any], texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    lost, sent = texts.get("lost_packets"), texts["messages"]
    if not lost:
        return
    if TESTS.get(texts["test"], ("", "UDP"))[1] != "UDP":
        yield "lost_packets", "TCP delivers everything: leave the field empty"
    elif not csv_table.WHOLE.fullmatch(lost):
        yield "lost_packets", f"{csv_table.shown(lost)} is not a whole number"
    elif csv_table.WHOLE.fullmatch(sent) and int(lost) > int(sent):
        yield "lost_packets", f"{lost} lost, but only {sent} sent"


FORM = csv_table.Form(
    {
        "test": _test,
        "message_bytes": csv_table.whole_to(2**24),
        "messages": csv_table.whole_to(10**12),
        "trial": csv_table.whole_to(MAX_TRIAL),
        "elapsed_s": _time,
        "lost_packets": str,
    },
    row=lambda values: Repeat(
        place=(values["test"], values["message_bytes"], values["messages"]),
        trial=values["trial"],
        printed=values["elapsed_s"],
        lost_packets=int(lost) if (lost := values.get("lost_packets")) else None,
    ),
    key=lambda row: repr((row.place, row.trial)),
    same="the same trial",
    optional={"lost_packets"},
    across=_wrong_loss,
)


def _values(row: Repeat, cell: PlannedCell) -> dict[str, Value]:
    """Values printed and derived; each quotient is rounded once. Without a printed loss over UDP
    there is no throughput; if a ping lost packets, its time includes waiting for them, so it has no
    mean.
    """
    elapsed_ns = int(Decimal(row.printed) * 10**9)
    values: dict[str, Value] = {"elapsed_ns": elapsed_ns, "printed_elapsed_s": row.printed}
    _, message_bytes, messages = row.place
    loss_count = row.lost_packets
    if loss_count is not None:
        values["lost_messages"] = loss_count
    arrived = messages - (loss_count or 0)
    if cell.test == "round_trip":
        values["transactions"] = arrived
        values["transactions_per_s"] = arrived * 10**9 / elapsed_ns
        if not loss_count:
            values |= {"rtt_count": arrived, "rtt_mean_ns": elapsed_ns / arrived}
        return values
    values["sent_messages"] = messages
    if loss_count is not None or cell.settings["protocol"] == "TCP":
        values["throughput_bit_per_s"] = 8 * message_bytes * arrived * 10**9 / elapsed_ns
    return values


def _systems(pairing: str) -> str:
    if len(pairing) != 2 or not pairing.isascii() or not pairing.isupper():
        raise UsageError(f"--pairing {pairing}: should be two capitals, server first, such as WL")
    return pairing


IMPORTER = Importer(
    read=import_repeats,
    help="""Make a run folder out of a TABLE of repeats with their times, and its report.

    The columns of the CSV file: test (tcp_ping, udp_ping, tcp_blast, udp_blast), message_bytes,
    messages, trial, elapsed_s, lost_packets (UDP). An empty time was not measured.
    """,
    options=(
        CommandOption("hops", "--hops", "Routers between the hosts.", limits=(0, 16), default=0),
        CommandOption(
            "pairing",
            "--pairing",
            "Systems of server and client, server first.",
            metavar="XY",
            default="LL",
            convert=_systems,
        ),
        CommandOption(
            "mss_bytes",
            "--mss",
            "TCP's MSS in bytes, if it is known.",
            limits=(1, 65495),
        ),
    ),
)
