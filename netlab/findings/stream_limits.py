"""The limit (bottleneck) of one stream: the order of the rules, their evidence, parts of limits.

``_RULES`` is the order; the conditions are in stream_rules.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from operator import attrgetter
from statistics import median

from netlab.ethernet import above_tolerance
from netlab.findings import stream_rules as rules
from netlab.findings.claims import CLAIMED, PLACE
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Kind, finding, in_trials
from netlab.findings.rates import Accounting
from netlab.findings.stream_end import StreamEnd
from netlab.findings.stream_rules import COSTS, robbed, starved, takes, throttled
from netlab.findings.traffic import OwnDrops, way
from netlab.messages import _
from netlab.trial.record import grouped

LEAST_OTHERS = 0.03
"""Minimum share of the link that others probably used, to be a part of the missing throughput."""

CERTAIN = 2
"""The share of others must be at least this many times ``others_doubt_share``, the part of this
share that may be our own traffic."""

MOSTLY = 0.75
"""Minimum share of the missing throughput that all parts together must explain."""

_QUOTAS = (Kind.CPU_WAIT_SENDER_QUOTA, Kind.CPU_WAIT_RECEIVER_QUOTA)
_PROGRAMS = (Kind.CPU_WAIT_SENDER_PROGRAMS, Kind.CPU_WAIT_RECEIVER_PROGRAMS)

STEADY_TRIALS, STEADY = 3, 0.2
"""Minimum number of trials in which others probably used the same share of the link, and maximum
difference of these shares, as a share of their median. Late counters would cause a different error
in each trial, so equal shares are not such an error."""

Parts = dict[Kind, float]
"""Kind of limit → share of the ceiling that it may have cost."""


def with_steady_others(samples: Iterable[StreamSample]) -> tuple[StreamSample, ...]:
    """Returns the samples. If the trials of one direction of a pairing agree on the share of
    others, their ``others_doubt_share`` is set to 0.
    """
    streams = tuple(samples)
    steady: set[StreamSample] = set()
    for of_way in grouped(streams, lambda s: (s.pairing, s.sender.host, s.receiver.host)).values():
        shares = [sample.likely_others_share for sample in of_way]
        differ_by = max(shares) - min(shares)
        enough = len(shares) >= STEADY_TRIALS and min(shares) >= LEAST_OTHERS
        if enough and differ_by <= STEADY * median(shares):
            steady |= {*of_way}
    return tuple(s.but(others_doubt_share=0.0) if s in steady else s for s in streams)


def parts_of(sample: StreamSample) -> Parts:
    """Each end's waits for a CPU (share of time), the traffic of others (share of the link)."""
    parts = _waits(sample)
    others_share, doubt = sample.likely_others_share, sample.others_doubt_share
    if others_share >= LEAST_OTHERS and others_share >= CERTAIN * doubt:
        parts[Kind.OTHER_TRAFFIC] = others_share
    return parts


def _waits(sample: StreamSample, role: str = "") -> Parts:
    """The waits of both ends, or of the one with this role."""
    waits: Parts = {}
    of_ends = zip(("sender", "receiver"), _QUOTAS, _PROGRAMS, strict=True)
    for name, quota, programs in of_ends:
        end = getattr(sample, name)
        causes = ((throttled, quota), (robbed, Kind.CPU_WAIT_STEAL), (starved, programs))
        kind = next((kind for cause, kind in causes if cause(end)), None)
        if kind is not None and role in ("", name):
            waits[kind] = max(waits.get(kind, 0.0), end.waited_share)
    return waits


def largest_beside_others(sample: StreamSample) -> Kind | None:
    """The kind of the largest part, if others used the link and all parts together explain enough
    (``MOSTLY``) of the missing throughput.

    If the traffic of others alone explains enough, it is chosen even if a wait is larger. A wait
    may cost nothing, but the stream cannot use the part of a link that others use. ``None`` if
    others did not use the link, or if the parts are too small.
    """
    parts, enough = parts_of(sample), MOSTLY * sample.missing_share
    others_share = parts.get(Kind.OTHER_TRAFFIC)
    if others_share is None or sum(parts.values()) < enough:
        return None
    return (
        Kind.OTHER_TRAFFIC if others_share >= enough else max(parts, key=lambda kind: parts[kind])
    )


STOOD = 0.9
"""Minimum wait for a CPU, as a share of the time without data that it explains: an end that waits
less did not stop the data for so long."""


def _ran_dry(sample: StreamSample, share: float) -> bool | None:
    """Whether the sender left TCP without data for at least half of this share of the window;
    ``None``: not known.
    """
    busy_us = sample.tcp.busy_us
    busy_share = None if busy_us is None else sample.sender.share_of(busy_us * 1e3)
    return None if busy_share is None else 1 - busy_share >= COSTS * share


def stopped_by(sample: StreamSample) -> str:
    """The role of the end that could have made the gaps of a plateau: the sender if it left TCP
    without data, else the receiver; empty if this is not known.
    """
    ran_dry = _ran_dry(sample, sample.plateau_gap_share)
    return "" if ran_dry is None else "sender" if ran_dry else "receiver"


def stood_for_cpu(sample: StreamSample) -> bool:
    """Whether data stood still, and the end that could have stopped them had no CPU then."""
    gap_share, role = sample.plateau_gap_share, stopped_by(sample)
    waited = getattr(sample, role).waited_share if role else sample.longest_wait_share
    return gap_share > 0 and waited >= STOOD * gap_share


def wait_for_cpu(sample: StreamSample) -> Kind | None:
    """The kind of the longest wait for a CPU, if waits cost TCP at least as much throughput as
    whatever limits its plateau.

    ``None`` if waits cost less, if TCP has no plateau, or if no end waited.
    """
    plateau, ceiling = sample.plateau_bit_per_s, sample.ceiling_bit_per_s
    waits = _waits(sample, stopped_by(sample))
    if plateau is None or not ceiling or not waits or not stood_for_cpu(sample):
        return None
    gap_share = (plateau - sample.throughput_bit_per_s) / ceiling
    return max(waits, key=lambda kind: waits[kind]) if gap_share >= 1 - plateau / ceiling else None


def cost_of(kind: Kind, sample: StreamSample) -> float:
    """The throughput that a limit of that kind cost the stream, as a share of its ceiling.

    The cost is the part of that kind (``parts_of``); over UDP what was not sent, or what was lost,
    at the limit's stage; or else all of the missing throughput. It is never more than this.
    """
    cost = parts_of(sample).get(kind)
    if cost is None:
        cost = _cost_at(stage_of(kind), sample)
    return sample.missing_share if cost is None else min(sample.missing_share, max(0.0, cost))


# ---- several limits of one stream ----------------------------------------------------------------

LEAST_COST = 0.05
"""Minimum cost of a limit beside the first one of a stream, as a share of its ceiling."""

_STAGES = {"sender": "sending", "receiver": "receiving", "path": "path", "device": "path"}
_OF_STAGES = {"receiving": (Kind.LOSS_LIMIT_SOCKET,), "": (Kind.LOSS_LIMIT_HOST,)}
OF_PATH = (Kind.LOSS_LIMIT_DAMAGED, Kind.LOSS_LIMIT_PATH, Kind.LOSS_LIMIT_UNKNOWN)


def stage_of(kind: Kind) -> str:
    """Where a limit holds back messages: ``sending``, ``path`` or ``receiving``; empty: a host,
    either end.
    """
    where = CLAIMED[kind][0] if kind in CLAIMED else ""
    return (
        "path"
        if kind in (*OF_PATH, Kind.OTHER_TRAFFIC)
        else _STAGES.get(where.partition("-")[0], "")
    )


def _cost_at(stage: str, sample: StreamSample) -> float | None:
    """Share of the ceiling that UDP lost at a stage; ``None`` over TCP, or if it is not known."""
    sent_rate, target = sample.sent_bit_per_s, rules.target_of(sample)
    if sample.protocol != "UDP" or sent_rate is None or not target or sample.lost_share is None:
        return None
    sent_share = min(1.0, sent_rate / target)
    if stage == "sending":
        return 1 - sent_share
    limits = _OF_STAGES.get(stage, OF_PATH)
    return sent_share * sum(rules.lost_share_at(sample, limit) for limit in limits)


def all_limits(first: Kind | None, sample: StreamSample) -> tuple[Kind | None, ...]:
    """The first limit of a stream, and over UDP those at other stages that cost enough. Marks of a
    queue show what no other rule does.

    Messages pass the stages one after the other: what one stage holds back says nothing about the
    next. So each is judged as if nothing had been lost elsewhere.
    """
    if sample.protocol != "UDP" or not sample.losses.sent or first is None:
        return (None if first is Kind.NOT_DETERMINED and is_marked(sample) else first,)
    more = []
    own = "none" if first is Kind.NOT_DETERMINED else stage_of(first)
    if first is Kind.OTHER_TRAFFIC and sample.others_are_sent_here:
        own = "sending"
    for stage, limit in (("sending", None), ("receiving", Kind.LOSS_LIMIT_SOCKET)):
        if own not in (stage, "") and (_cost_at(stage, sample) or 0.0) >= LEAST_COST:
            kind = judged(lost_only(sample, limit)).kind
            if kind is not None and stage_of(kind) == stage:
                more.append(kind)
    if own not in ("path", "") and (_cost_at("path", sample) or 0.0) >= LEAST_COST:
        more.append(max(OF_PATH, key=lambda limit: rules.lost_share_at(sample, limit)))
    return tuple(more) if more and own == "none" else (first, *more)


def lost_only(sample: StreamSample, limit: Kind | None) -> StreamSample:
    """The stream as if it had lost messages only in the places of this limit (``None``: none)."""
    losses, sent = sample.losses, sample.losses.sent or 0
    kept = sent * rules.lost_share_at(sample, limit) if limit else 0.0
    arrived = sent - (losses.lost or 0)
    share = kept / (arrived + kept) if kept else 0.0
    lost_messages = round(share * sent)
    return sample.but(
        throughput_bit_per_s=sample.throughput_bit_per_s * (1 - share) * sent / max(1, arrived),
        losses=losses.but(lost=lost_messages, receive_queue=lost_messages),
        drops=OwnDrops(**dict.fromkeys(OwnDrops.__slots__, 0)),
    )


FILLED, FILLED_BOTH_WAYS = 0.98, 0.96
"""Minimum share of the wire ceiling at which the wire is the limit. The second value applies if
data flow both ways: then the ceiling is an upper bound, since acknowledgements take room."""

OFFERED = 0.98
"""Minimum share of the offered rate at which this rate is the limit."""

_Rule = Callable[[StreamSample, float | None], bool]
"""Whether a limit holds for a stream. The second argument is the median throughput, in bit/s, of
those trials of its cell in which no end waited for a CPU (``None``: not known)."""


def _of(rule: Callable[[StreamSample], bool]) -> _Rule:
    """A rule that does not use other trials."""
    return lambda sample, best: rule(sample)


def _wait(cause: Callable[[StreamEnd], bool], role: str, costly: _Rule) -> _Rule:
    """An end waited for its CPU for this cause, and that cost throughput."""
    return lambda sample, best: cause(getattr(sample, role)) and costly(sample, best)


def _lost(limit: Kind) -> _Rule:
    return lambda sample, _best: rules.lost_at(sample, limit)


def _never_idle(sample: StreamSample, best: float | None) -> bool:
    return rules.wants_cpu(sample.sender) and takes(sample, sample.sender, best)


_RULES: Sequence[tuple[Kind, _Rule]] = (
    # First the causes of missing CPU time, then their effects: a receiver without a CPU closes
    # its window and drops messages; a sender without a CPU makes fewer calls.
    (Kind.CPU_WAIT_RECEIVER_QUOTA, _wait(throttled, "receiver", rules.receiver_held_up)),
    (
        Kind.CPU_WAIT_SENDER_QUOTA,
        _wait(throttled, "sender", lambda it, best: takes(it, it.sender, best)),
    ),
    (Kind.CPU_WAIT_STEAL, _wait(robbed, "receiver", rules.receiver_held_up)),
    (Kind.CPU_WAIT_STEAL, _wait(robbed, "sender", lambda it, _best: rules.wants_cpu(it.sender))),
    (Kind.UNSCALED_WINDOW, _of(rules.window_unscaled)),
    (Kind.BUFFER_LIMIT_RECEIVER, _of(rules.window_limited)),  # too small for this round trip
    (Kind.CPU_WAIT_RECEIVER_PROGRAMS, _wait(starved, "receiver", rules.receiver_held_up)),
    (Kind.CPU_WAIT_SENDER_PROGRAMS, _wait(starved, "sender", _never_idle)),
    # Before the call rate: a thread that is always on its CPU may be inside its send calls.
    (Kind.CPU_BOUND_BOTH, _of(rules.host_on_cpu)),
    (Kind.CPU_BOUND_SENDER, _of(rules.sender_on_cpu)),
    (Kind.CPU_BOUND_RECEIVER, _of(rules.receiver_on_cpu)),
    (Kind.SENDER_CALL_RATE, _of(rules.sender_in_calls)),
    # If others fill the link, no room is left on it, whatever TCP waits for.
    (Kind.OTHER_TRAFFIC, _of(rules.crowded_out)),
    (Kind.BUFFER_LIMIT_SENDER, _of(rules.send_buffer_limited)),
    (Kind.LOSS_LIMIT_SOCKET, _of(rules.receive_queue_drops)),
    (Kind.LOSS_LIMIT_HOST, _lost(Kind.LOSS_LIMIT_HOST)),
    (Kind.LOSS_LIMIT_SENDER_QUEUE, _of(rules.sender_queue_drops)),
    (Kind.SATURATED_CORE, _of(rules.core_saturated)),
    # The path is the limit only if no host is.
    (Kind.CONGESTION, _of(rules.congested)),
    *((kind, _lost(kind)) for kind in OF_PATH),
    (Kind.CPU_WAIT_RECEIVER_QUOTA, _wait(throttled, "receiver", rules.receiver_shut)),
    (Kind.CPU_WAIT_RECEIVER_PROGRAMS, _wait(starved, "receiver", rules.receiver_shut)),
)
"""The first rule that holds gives the limit."""


def _leaves_tcp_idle(sample: StreamSample, best: float | None) -> bool:
    costs = rules.costs(sample, sample.sender, best)
    return costs and _ran_dry(sample, sample.missing_share) is not False


_BY_WAITS: Sequence[tuple[Kind, _Rule]] = (
    (Kind.CPU_WAIT_RECEIVER_QUOTA, _wait(throttled, "receiver", rules.receiver_costs)),
    (
        Kind.CPU_WAIT_STEAL,
        lambda it, best: any(robbed(e) and rules.costs(it, e, best) for e in it.ends),
    ),
    (Kind.CPU_WAIT_RECEIVER_PROGRAMS, _wait(starved, "receiver", rules.receiver_costs)),
    (
        Kind.CPU_WAIT_SENDER_PROGRAMS,
        _wait(starved, "sender", _leaves_tcp_idle),
    ),
)
"""Waits whose effect is not recorded. Such a wait must explain at least half of the missing
throughput. A limit that several trials together show replaces such a wait."""


SHARED, ON_WIRE = 0.015, 1538 / 1514
"""If other traffic probably used at least this share of the link, it is added to the stream's rate.
The second value is the bytes on the wire per byte that an interface counts, for full frames."""


@dataclass(frozen=True, eq=False, slots=True)
class JudgedStream:
    """One stream, and its limit according to its own record."""

    sample: StreamSample
    kind: Kind | None
    """``None`` if too little is recorded, even for "not determined"."""
    by_shares: bool = False
    """Whether the limit was found by shares only: the waits for a CPU, or the traffic of others,
    are large enough to explain the missing throughput, but their effect is not recorded."""
    lost_apart: float | None = None
    """Share of UDP messages that the path loses at any load; ``None``: not known."""

    @property
    def is_shared(self) -> bool:
        """Whether other traffic probably used enough of the link to be added to the rate."""
        share, doubt = self.sample.likely_others_share, self.sample.others_doubt_share
        return share >= max(SHARED, CERTAIN * doubt)

    @property
    def scatter_share(self) -> float:
        """Standard deviation of the rate, as a share of it, where the path loses at any load."""
        lost, sent = self.lost_apart or 0.0, self.sample.losses.sent or 1
        return sqrt(lost / (1 - lost) / sent) if lost < 1 else 0.0

    def rate_bit_per_s(self, accounting: Accounting) -> float:
        """The stream's rate in bit/s while data flowed, in the bytes that the accounting counts.
        Probable other traffic is included if it is large enough (``is_shared``), and what the path
        loses at any load.
        """
        framing = self.sample.framing
        if framing is None:
            return 0.0
        own = framing.rate_bit_per_s(self.sample.flowing_bit_per_s, accounting)
        own /= 1 - (self.lost_apart or 0.0)
        others_rate = self.sample.likely_others_share * framing.link_rate_bit_per_s
        return own + (ON_WIRE * others_rate if self.is_shared else 0.0)


def way_of(stream: JudgedStream) -> tuple[str, str, str]:
    """The pairing, and the hosts of sender and receiver."""
    sample = stream.sample
    return sample.pairing, sample.sender.host, sample.receiver.host


def with_lost_apart(judged_streams: Iterable[JudgedStream]) -> Iterator[JudgedStream]:
    """Add to streams over UDP what those with the lowest offered rate, of the same direction of a
    pairing, lost on the path at the median.
    """

    def on_path(sample: StreamSample) -> float | None:
        if sample.lost_share is None:
            return None
        return sum(rules.lost_share_at(sample, limit) for limit in OF_PATH)

    for streams in grouped(judged_streams, way_of).values():
        gentle = grouped(
            (s.sample for s in streams if s.sample.protocol == "UDP" and s.sample.offers_less),
            lambda sample: sample.offered_bit_per_s or 0.0,
        )
        shares = [on_path(sample) for sample in gentle[min(gentle)]] if gentle else []
        known = [share for share in shares if share is not None]
        for stream in streams:
            sample = stream.sample
            is_full = sample.protocol == "UDP" and not sample.offers_less and sample.lost_share
            yield replace(stream, lost_apart=median(known)) if known and is_full else stream


def judged(sample: StreamSample, best_bit_per_s: float | None = None) -> JudgedStream:
    """The bottleneck of a stream.

    ``best_bit_per_s`` is the median throughput of those trials of its cell in which no end waited
    for a CPU; ``None`` if it is not known.
    """
    if fills_the_wire(sample):
        # A stream above the computed ceiling shows that the computed ceiling is wrong.
        return JudgedStream(sample, None if is_above(sample) else Kind.WIRE_CEILING)
    comparable = sample.same_host or sample.ceiling_bit_per_s
    if sample.imported or not comparable or lost_to_stops(sample):
        return JudgedStream(sample, None)
    offered_rate = sample.offered_bit_per_s
    if offered_rate is not None and sample.throughput_bit_per_s >= OFFERED * offered_rate:
        return JudgedStream(sample, Kind.PACING)
    waited = wait_for_cpu(sample)
    if waited is not None:
        return JudgedStream(sample, waited)
    for kind, rule in _RULES:
        if rule(sample, best_bit_per_s):
            return JudgedStream(sample, kind)
    return _by_shares(sample, best_bit_per_s)


def _by_shares(sample: StreamSample, best_bit_per_s: float | None) -> JudgedStream:
    """The limit if no rule holds: waits or other traffic that explain enough."""
    largest = largest_beside_others(sample)
    if largest is not None:
        return JudgedStream(sample, largest, by_shares=True)
    # If TCP has a plateau (its rate while data flow), the cost of its waits is known, and
    # ``wait_for_cpu`` has judged it.
    is_judged = rules.is_shared(sample) or sample.plateau_bit_per_s is not None
    for kind, rule in () if is_judged else _BY_WAITS:
        if rule(sample, best_bit_per_s):
            return JudgedStream(sample, kind, by_shares=True)
    return JudgedStream(sample, Kind.NOT_DETERMINED if is_all_known(sample) else None)


def limit_of(sample: StreamSample) -> Kind | None:
    """A stream's bottleneck by its own record alone; ``None`` if too little is recorded."""
    return judged(sample).kind


def fills_the_wire(sample: StreamSample) -> bool:
    """Whether a stream fills the wire."""
    share = sample.ceiling_share
    if share is None or sample.same_host:
        return False
    return share >= (FILLED_BOTH_WAYS if sample.flow else FILLED)


def lost_to_stops(sample: StreamSample) -> bool:
    """Whether the share of the window in which data stopped is at least half of the share of the
    ceiling that is missing.

    Another finding reports the stops. Values of TCP, a CPU or a counter in such a window do not
    show a limit.
    """
    stopped_share = sample.stopped_share
    return stopped_share > 0 and stopped_share >= COSTS * sample.missing_share


def lost_to_pauses(sample: StreamSample) -> bool:
    """Whether short stops of the sender's process explain half of what is missing."""
    return sample.sender.stalled_share >= max(rules.WAITED, COSTS * sample.missing_share)


def is_above(sample: StreamSample) -> bool:
    """Whether throughput is above the wire ceiling by more than clocks and long calls explain."""
    ceiling = sample.highest_ceiling_bit_per_s
    if ceiling is None or sample.same_host:
        return False
    margin = above_tolerance(imported=sample.imported) + sample.resolution_share
    return sample.throughput_bit_per_s > (1 + margin) * ceiling


def is_marked(sample: StreamSample) -> bool:
    """Whether a queue on the path held TCP back with marks, as it does with drops (ECN, RFC 3168):
    packets arrived marked, the receiver told the sender, and no window, buffer or offered rate held
    TCP back instead.
    """
    offered, marks = sample.offered_bit_per_s, (sample.marked_packets, sample.echoed_marks)
    kept = offered is not None and sample.throughput_bit_per_s >= rules.SENT_ENOUGH * offered
    free = (sample.cwnd_limited_share or 0) >= rules.CLOSED
    return all(marks) and free and not kept and not sample.same_host


def is_all_known(sample: StreamSample) -> bool:
    """Whether a stream's record has all values that the rules need."""
    sender, receiver, losses = sample.sender, sample.receiver, sample.losses
    values = [sample.ceiling_bit_per_s, sample.queue_full_share]
    values += [sender.thread_share, sender.run_queue_share, receiver.run_queue_share]
    if sample.protocol == "TCP":
        values += [sample.cwnd_limited_share, sample.tcp.retransmissions]
    else:
        values += [sample.lost_share, losses.receive_queue, losses.local]
    both_judged = sender.judged and receiver.judged
    return both_judged and sample.streams == 1 and not sample.same_host and None not in values


FIGURES: Mapping[str, str] = {
    "send_room_share": "room_share",
    "thread_share": "sender.thread_share",
    "own_mtu_bytes": "sender.mtu_bytes",
    "receiver_thread_share": "receiver.thread_share",
    **{
        f"{end}_{name}": f"{end}.{name}"
        for end in ("sender", "receiver")
        for name in ("run_queue_share", "throttled_share", "steal_share", "busiest_core_share")
    },
    "retransmissions": "tcp.retransmissions",
    "window_bytes": "tcp.window_bytes",
    "min_rtt_us": "tcp.min_rtt_us",
    "lost_messages": "losses.lost",
    "receive_queue_drops": "losses.receive_queue",
    "local_drops": "losses.local",
}
"""Figure in a part of a sample → its place; the sample has the others under their own names."""

_ALWAYS = ("throughput_bit_per_s", "ceiling_bit_per_s", "ceiling_share")


def evidence(kind: Kind, samples: Sequence[StreamSample]) -> dict[str, float | None]:
    """Medians over the trials, or sums; ``None`` for a figure that is missing in some trial."""
    medians: dict[str, float | None] = {}
    for name in (*_ALWAYS, *kind.figures):
        values = [attrgetter(FIGURES.get(name, name))(sample) for sample in samples]
        # Numbers of messages, or of segments, are those of all trials.
        middle = sum if name in kind.figures and kind.name == "delivery" else median
        medians[name] = middle(values) if values and None not in values else None
    if kind.is_costly and samples:
        medians["costs_share"] = median(cost_of(kind, sample) for sample in samples)
    return medians


def words(kind: Kind, samples: Sequence[StreamSample]) -> dict[str, str]:
    """Evidence that is not a number, if it is the same in all of these trials."""
    if kind is Kind.UNSCALED_WINDOW:
        hosts = {sample.unscaled_at for sample in samples}
        return {"at_host": hosts.pop()} if len(hosts) == 1 and "" not in hosts else {}
    if kind is not Kind.OTHER_TRAFFIC:
        return {}
    where = "sender-queue" if all(it.others_are_sent_here for it in samples) else "path"
    reported = [sample.reported_others for sample in samples]
    places = {None if it is None else (it.host, it.receiving) for it in reported}
    place = places.pop() if len(places) == 1 else None
    at = {} if place is None else {"at_host": place[0], "way": way(receiving=place[1])}
    return {PLACE: where, **at}


def findings_of(
    samples: Iterable[StreamSample],
    kind_of: Callable[[StreamSample], Kind | None],
    *,
    in_most: bool = True,
) -> Iterator[Finding]:
    """One finding per group and kind, over the cells where more than half of the trials show it;
    or, if not ``in_most``, over any trials.
    """
    for group, of_group in grouped(samples, lambda sample: sample.group).items():
        shown: dict[Kind, list[StreamSample]] = {}
        for trials in grouped(of_group, lambda sample: sample.cell).values():
            for kind, showing in grouped(trials, kind_of).items():
                if kind is not None and (2 * len(showing) > len(trials) or not in_most):
                    shown.setdefault(kind, []).extend(showing)
        for kind, showing in shown.items():
            yield finding(kind, group, (), evidence(kind, showing), trials=trials_of(showing))


def trials_of(samples: Sequence[StreamSample]) -> tuple[tuple[str, int], ...]:
    """(cell, trial) of each sample, once."""
    return tuple(dict.fromkeys((sample.cell, sample.trial) for sample in samples))


def trial_count_words(
    samples: Sequence[StreamSample], all_samples: Sequence[StreamSample]
) -> dict[str, str]:
    """The word ``in_trials``: how many of the cells' trials are shown; empty if all are."""
    number = len(all_samples)
    if len(samples) == number:
        return {}
    if len(samples) == 1 and len({sample.cell for sample in all_samples}) == 1:
        word = _("in trial {trial} of {trials}", trial=samples[0].trial, trials=number)
        return {"in_trials": word}
    return in_trials(len(samples), number)


def cells_mostly(findings: Iterable[Finding], samples: Iterable[StreamSample]) -> frozenset[str]:
    """The cells of which more than half of the trials belong to one of the findings."""
    finding_trials = {trial for finding in findings for trial in finding.trials}
    all_trials = {(sample.cell, sample.trial) for sample in samples}
    of_cells = Counter(cell for cell, _trial in all_trials)
    shown_trials = Counter(cell for cell, trial in finding_trials if (cell, trial) in all_trials)
    return frozenset(cell for cell, number in shown_trials.items() if 2 * number > of_cells[cell])
