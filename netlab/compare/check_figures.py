"""The figures of a trial that an expectation limits. No I/O.

The ceiling of a trial is the highest payload rate that its link can carry.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from netlab.experiment.cells import Expectation
from netlab.experiment.matrix import Link
from netlab.experiment.records import FLOWS, FlowValues, Record, Status
from netlab.results.ceilings import ceiling_of
from netlab.results.layout import Bin, TableColumn


@dataclass(frozen=True, slots=True)
class LimitedFigure:
    """One figure of one trial, or the reason why there is none."""

    trial: int
    flow: str
    """``to server`` or ``to client`` if there are two flows, else empty."""
    value: float | None
    """In the unit that the expectation's ``of`` names; ``None`` if there is no figure."""
    why_not: str = ""

    @property
    def place(self) -> str:
        """Trial and flow as text, such as ``trial 3, to server``."""
        return ", ".join(word for word in (f"trial {self.trial}", self.flow) if word)


def limited_figures(
    expectation: Expectation, record: Record, link: Link | None
) -> Iterator[LimitedFigure]:
    """Each figure of a trial that an expectation (other than ``baseline``) limits."""
    if record.status != Status.OK:
        yield LimitedFigure(record.trial, "", None, record.why_blank)
        return
    match expectation.what:
        case "throughput" | "loss":
            for name, flow in record.flows.items():
                figure = (
                    _loss(flow)
                    if expectation.what == "loss"
                    else _throughput(expectation, record, name, link)
                )
                yield _held_figure(record, FLOWS[name], figure)
        case "payload":
            for prefix in ("", "to_client_"):
                if not prefix or record.number(f"{prefix}payload_bytes") is not None:
                    yield _held_figure(
                        record, FLOWS[prefix], _number(record, f"{prefix}payload_bytes")
                    )
        case "frames":
            name = "line_share" if expectation.of == "line rate" else "frames_per_s"
            passed = record.number("frames_per_s") is not None
            # If `frames_per_s` is absent, even the lowest rate of the search failed: the rate is 0.
            yield _held_figure(record, "", _number(record, name) if passed else 0.0)
        case _:
            yield _held_figure(record, "", _number(record, "rtt_mean_ns"))


def _held_figure(record: Record, flow: str, figure: float | str) -> LimitedFigure:
    if isinstance(figure, str):
        return LimitedFigure(record.trial, flow, None, figure)
    return LimitedFigure(record.trial, flow, figure)


def _number(record: Record, name: str) -> float | str:
    value = record.number(name)
    return "the record lacks this figure" if value is None else value


def _loss(flow: FlowValues) -> float | str:
    if flow.lost_messages is None or not flow.sent_messages:
        return "the record does not say how many messages were lost"
    return flow.lost_messages / flow.sent_messages


def _throughput(
    expectation: Expectation, record: Record, name: str, link: Link | None
) -> float | str:
    value = record.flow(name).throughput_bit_per_s
    if value is None:
        return "the record has no throughput"
    if expectation.of == "bit/s":
        return value
    if record.same_host:
        return "server and client are one host: no cable was touched, so there is no ceiling"
    if link is None:
        return "the matrix states no `link`, so there is no ceiling"
    column = TableColumn(record.protocol, record.message_bytes or 0, name)
    ceiling = ceiling_of(column, [Bin((record,), name)], link)
    if ceiling is None:
        return "the link cannot carry this message, so there is no ceiling"
    # If the TCP options are not known, the highest ceiling applies, so that a pass is certain.
    return value / ceiling.highest_bit_per_s
