"""The report's tables of a ``payload_search``: their columns, and why a figure is missing."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from netlab.messages import _, joined
from netlab.trial import figures
from netlab.trial.figures import FigureColumn, Shown, ShownOf, Trials, numbers, results_of

_EVIDENCE = {
    "emsgsize": _("the sender’s system"),
    "icmp": _("a router’s message (ICMP)"),
    "timeout": _("silence: longer packets vanish"),
    "dropped": _("an interface that drops longer packets"),
    "mss": _("the segment size that TCP negotiated"),
    "protocol": _("the protocol: it allows no longer message"),
}


def _all(values: Sequence[float], why: Sequence[str] = ()) -> Shown:
    """The value that the trials found; all values if they differ."""
    differing = sorted(set(values))
    text = joined(", ", [f"{value:.0f}" for value in differing])
    return Shown(differing[0] if len(differing) == 1 else None, why, text)


def _found(name: str) -> ShownOf[Trials]:
    """What the trials found: numbers, or the words for their evidence."""

    def shown(trials: Trials) -> Shown | str:
        results = results_of(trials)
        if not results:
            return Shown(why=[trial.why_blank for trial in trials])
        evidence = [text for record in results if (text := record.text(name)) is not None]
        if evidence:
            return joined("; ", dict.fromkeys(_EVIDENCE.get(text, text) for text in evidence))
        values = numbers(results, name)
        return _all(values, () if values else [_("the host’s system does not report it.")])

    return shown


def _tried(trials: Trials) -> Shown:
    """Number of sizes tried; notes say what failed, and which sizes have no point in the chart."""
    results = results_of(trials)
    why = figures.blanks_of(trials)
    unswept = {size for r in results for size in r.series("sweep_failed_message_bytes")}
    if unswept:
        sizes = joined(", ", [f"{size:.0f}" for size in sorted(unswept)])
        why.append(_("the sweep has no result at {sizes}.", sizes=sizes))
    return _all([float(len(record.series("probed_message_bytes"))) for record in results], why)


def _pieces(name: str) -> ShownOf[Trials]:
    """How many fragments the hosts counted of messages one byte too long for a packet; empty for
    TCP.
    """

    def shown(trials: Trials) -> Shown:
        probes = [record for record in results_of(trials) if "next_passed" in record.measured]
        if any(record.measured["next_passed"] is False for record in probes):
            return Shown(why=[_("fragmented messages did not arrive.")])
        return _all(numbers(probes, name))

    return shown


def _frames(name: str) -> ShownOf[Trials]:
    """Lengths of the captured frames, without their FCS: ``38 and 1514``."""

    def shown(trials: Trials) -> Shown | str:
        results = results_of(trials)
        lengths = sorted({round(size) for record in results for size in record.series(name)})
        if lengths:
            return reduce(
                lambda some, more: _("{some} and {more}", some=some, more=more), map(str, lengths)
            )
        if not results:
            return ""
        reasons = dict.fromkeys(str(r.values.get("capture_reason", "")) for r in results)
        text = joined("; ", [reason for reason in reasons if reason])
        why = _("nothing was captured: {reasons}.", reasons=text) if text else _("not captured.")
        return Shown(why=[why])

    return shown


FOUND: Sequence[FigureColumn[Trials]] = (
    FigureColumn(_("payload"), _found("payload_bytes"), "byte"),
    FigureColumn(_("path MTU"), _found("path_mtu_bytes"), "byte"),
    FigureColumn(_("known by"), _found("path_mtu_evidence")),
    FigureColumn(_("payload to client"), _found("to_client_payload_bytes"), "byte"),
    FigureColumn(_("path MTU to client"), _found("to_client_path_mtu_bytes"), "byte"),
    FigureColumn(_("known by (to client)"), _found("to_client_path_mtu_evidence")),
    FigureColumn(_("interface MTU"), _found("interface_mtu_bytes"), "byte"),
    FigureColumn(_("sizes tried"), _tried, "byte"),
)
CUT_UP: Sequence[FigureColumn[Trials]] = (
    FigureColumn(_("fragments of one byte more"), _pieces("next_client_ip_fragments_created")),
    FigureColumn(_("reassembled from them"), _pieces("next_server_ip_reassembled")),
)
FRAMES: Sequence[FigureColumn[Trials]] = (
    FigureColumn(_("frames seen"), _frames("captured_frame_bytes")),
    FigureColumn(_("frames seen, one byte more"), _frames("captured_next_frame_bytes")),
)
