"""Findings about streams in words: what limited one, what is doubtful about it, by which figures.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from netlab.findings.finding import Finding, Kind
from netlab.findings.host_limits import STARVED
from netlab.stats import rounded
from netlab.units import format_bytes, format_rate, format_seconds

CALLED: Mapping[Kind, str] = {
    Kind.WIRE_CEILING: "the wire",
    Kind.SENDER_CPU: "the sender’s CPU",
    Kind.SENDER_CALL_RATE: "the sender’s call rate",
    Kind.SENDER_QUOTA: "the sender’s CPU quota",
    Kind.SENDER_STARVED: "others on the sender’s CPU",
    Kind.SENDER_QUEUE_DROPS: "drops in the sender’s queue",
    Kind.SENDER_BUFFER: "the sender’s buffer",
    Kind.RECEIVER_CPU: "the receiver’s CPU",
    Kind.RECEIVER_QUOTA: "the receiver’s CPU quota",
    Kind.RECEIVER_STARVED: "others on the receiver’s CPU",
    Kind.RECEIVER_WINDOW: "the receiver’s window",
    Kind.RECEIVE_QUEUE_DROPS: "drops in the receiver’s queue",
    Kind.STOLEN_CPU: "CPU time given to other machines",
    Kind.SATURATED_CORE: "one saturated core",
    Kind.CONGESTION: "congestion control",
    Kind.PATH_LOSS: "loss on the path",
    Kind.PACKET_RATE: "packets a second",
    Kind.PACING: "the offered rate",
    Kind.NOT_DETERMINED: "not determined",
}
"""Kind of limit → how it is called."""

Figures = Mapping[str, float]


def said_of_stream(finding: Finding) -> str | None:
    """What a finding about streams states, without its group; ``None`` for one of another kind."""
    doubt = _DOUBTS.get(finding.kind)
    if doubt is not None:
        return doubt(finding)
    called = CALLED.get(finding.kind)
    if called is None:
        return None
    share, figures = finding.evidence.get("ceiling_share"), shown_by(finding.kind, finding.evidence)
    at = "" if share is None else f" at {_percent(share, 1)} of the wire ceiling"
    if finding.kind is Kind.NOT_DETERMINED:
        return f"what limited it{at} is not determined by what is recorded"
    return f"limited by {called}{at}" + (f": {figures}" if figures else "")


def shown_by(kind: Kind, evidence: Figures) -> str:
    """The figures behind a limit, in words; empty where it has none of its own."""
    say = _SHOWN.get(kind)
    return "" if say is None else say(evidence)


def _call_rate(said: Figures) -> str:
    return f"{thousands(said['calls_per_s'])} calls a second{_each_takes(said)}"


def _each_takes(said: Figures) -> str:
    half_ns, p90_ns = said["send_call_median_ns"], said["send_call_p90_ns"]
    if p90_ns <= 2 * half_ns:
        return f", each takes {_time(half_ns)}"
    return f" of {_time(half_ns)} (nine of ten: {_time(p90_ns)})"


def _on_cpu(said: Figures) -> str:
    calls = said.get("calls_per_s")
    often = "" if calls is None else f", {thousands(calls)} calls a second"
    return f"its thread {_percent(said['thread_share'])} on a CPU{often}"


def _quota(end: str) -> Callable[[Figures], str]:
    return lambda said: f"throttled in {_percent(said[f'{end}_throttled_share'])} of its periods"


def _starved(end: str) -> Callable[[Figures], str]:
    return lambda said: (
        f"ready to run and without a CPU {_time_share(said[f'{end}_run_queue_share'])}"
    )


def _stolen(said: Figures) -> str:
    shares = [said[name] for name in ("sender_steal_share", "receiver_steal_share") if name in said]
    return f"{_percent(max(shares))} of the CPUs’ time"


def _window(said: Figures) -> str:
    window, rtt = said["window_bytes"], said["min_rtt_us"]
    limit = format_rate(float(f"{said['window_limit_bit_per_s']:.3g}"))
    return (
        f"TCP waited for it {_time_share(said['rwnd_limited_share'])}: "
        f"{format_bytes(round(window))} in {_time(1000 * rtt)} are {limit}"
    )


def _buffer(said: Figures) -> str:
    size = said.get("send_buffer_bytes")
    of = "" if size is None else f" of {format_bytes(round(size))}"
    return f"TCP waited for a buffer{of} {_time_share(said['sndbuf_limited_share'])}"


def _queue(said: Figures) -> str:
    return f"its queue full at {_percent(said['queue_full_share'])} of the looks"


def _core(said: Figures) -> str:
    names = ("sender_busiest_core_share", "receiver_busiest_core_share")
    return f"busy {_percent(max(said[name] for name in names if name in said))}"


def _congestion(said: Figures) -> str:
    times = rounded(said["retransmissions"], 0)
    return f"{times} segments sent again, held back {_time_share(said['cwnd_limited_share'])}"


def _lost(said: Figures) -> str:
    return f"{_percent(said['lost_share'], 1)} lost"


def _lost_in_queue(said: Figures) -> str:
    share = min(1.0, said["receive_queue_drops"] / said["lost_messages"])
    return f"{_lost(said)}, {_percent(share)} of that in the socket"


def _frames(said: Figures) -> str:
    return f"{thousands(said['frames_per_s'])} frames a second, as with other sizes"


_SHOWN: Mapping[Kind, Callable[[Figures], str]] = {
    Kind.SENDER_CALL_RATE: _call_rate,
    Kind.SENDER_CPU: _on_cpu,
    Kind.SENDER_QUOTA: _quota("sender"),
    Kind.SENDER_STARVED: _starved("sender"),
    Kind.SENDER_QUEUE_DROPS: lambda said: f"{thousands(said['local_drops'])} dropped",
    Kind.SENDER_BUFFER: _buffer,
    Kind.RECEIVER_CPU: _queue,
    Kind.RECEIVER_QUOTA: _quota("receiver"),
    Kind.RECEIVER_STARVED: _starved("receiver"),
    Kind.RECEIVER_WINDOW: _window,
    Kind.RECEIVE_QUEUE_DROPS: _lost_in_queue,
    Kind.STOLEN_CPU: _stolen,
    Kind.SATURATED_CORE: _core,
    Kind.CONGESTION: _congestion,
    Kind.PATH_LOSS: _lost,
    Kind.PACKET_RATE: _frames,
    Kind.PACING: lambda said: f"{format_rate(said['offered_bit_per_s'])} offered",
}


# ---- doubts --------------------------------------------------------------------------------------


def _above(finding: Finding) -> str:
    said = finding.evidence
    over = said["throughput_bit_per_s"] / said["highest_ceiling_bit_per_s"] - 1
    return (
        f"{_percent(over, 1)} above the wire’s ceiling of "
        f"{rounded(said['highest_ceiling_bit_per_s'] / 1e6, 2)} Mbit/s: the link’s rate is not "
        "the one stated, or a clock or an offload deceives"
    )


def _mtu(finding: Finding) -> str:
    said = finding.evidence
    return (
        f"the path carries packets of {said['path_mtu_bytes']:.0f} bytes, the link is stated with "
        f"an MTU of {said['link_mtu_bytes']:.0f}"
    )


def _controls(finding: Finding) -> str:
    chosen = "; ".join(f"{host}: {control}" for host, control in finding.words.items())
    return (
        f"the senders use different congestion controls, which the matrix does not set ({chosen})"
    )


def _step(finding: Finding) -> str:
    return f"its clock was set by {finding.evidence['clock_step_ns'] / 1e9:+.1f} s during a trial"


def _rate(finding: Finding) -> str:
    return f"its clock runs {finding.evidence['clock_ppm']:+.0f} ppm off the undisciplined one"


def _load(finding: Finding) -> str:
    said = finding.evidence
    waited, stolen = said.get("run_queue_share", 0.0), said.get("steal_share", 0.0)
    words = []
    if waited > STARVED:
        words.append(f"the test was ready to run and without a CPU {_time_share(waited)}")
    if stolen > STARVED:
        words.append(f"{_percent(stolen)} of its CPUs’ time went to other machines")
    return f"its CPUs had other work as well: {' and '.join(words)}, at the worst"


def _saving(finding: Finding) -> str:
    facts = ", ".join(f"{name.replace('_', ' ')} {what}" for name, what in finding.words.items())
    return f"it saves power ({facts}): its speed follows its load"


_DOUBTS: Mapping[Kind, Callable[[Finding], str]] = {
    Kind.ABOVE_CEILING: _above,
    Kind.PATH_MTU: _mtu,
    Kind.CONGESTION_DIFFERS: _controls,
    Kind.CLOCK_STEP: _step,
    Kind.CLOCK_RATE: _rate,
    Kind.OTHER_LOAD: _load,
    Kind.POWER_SAVING: _saving,
}

# ---- figures -------------------------------------------------------------------------------------


def _time_share(share: float) -> str:
    return f"{_percent(share)} of the time"


def _percent(share: float, digits: int = 0) -> str:
    return f"{rounded(100 * share, digits)} %"


def _time(ns: float) -> str:
    """Two digits that count."""
    return format_seconds(float(f"{ns / 1e9:.2g}")).replace("us", "µs")


def thousands(count: float) -> str:
    """Two digits that count, in groups of three."""
    return f"{float(f'{count:.2g}'):,.0f}"
