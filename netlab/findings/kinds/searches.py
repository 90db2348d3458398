"""Kinds of findings about searches for the highest rate and for the largest payload."""

from netlab.findings.kinds.kind import note, value, warning
from netlab.messages import _

RATES = "Searches for the highest rate (RFC 2544)"
PAYLOADS = "Searches for the largest payload"

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

note(
    "search-limit", rule="searches.limits:search_limits", section=RATES,
    condition="why the next rate of the grid failed. `line-rate`: a trial at the line rate passed, "
        "and the sender did not exceed it. `frame-rate`: at three or more neighbouring frame "
        "sizes, the largest at least four times the smallest, one frame rate is between the "
        "highest rate that passed and the next that failed (within 1 %), always below 95 % of the "
        "line rate; three of the sizes have bounds at most 10 % apart. `bit-rate`: the same with "
        "one rate in bit/s and bounds at most 5 % apart, counted on the wire, in frames with or "
        "without FCS, or in IP packets. `device`: frames were lost or delayed between the hosts, "
        "and the hosts' own drops do not explain that. An observed device's CPU is named if its "
        "busiest core was at least 97 % busy. `queue`: no frame was lost, but receiving took "
        "longer than sending, by more than the trial’s length times half of `resolution` (the "
        "verdict `absorbed`). `sender`: in three trials at one rate it sent less than requested, "
        "by more than 0.1 % and half a step. `receiver`: in three trials at one rate the drops of "
        "our own hosts explain the loss. `none`: even the lowest rate did not pass [RFC 2544, "
        "26.1; Mogul and Ramakrishnan 1997]",
    values={
        "frame-rate": value(
            _("the same frame rate {sizes}, {found_frames_per_s}/s, with the busiest core of "
                "{device} at {busiest_core_share}: the device’s CPU is the limit there, not the "
                "link"),
            _("the same frame rate {sizes}, {found_frames_per_s}/s: the device handles this many "
                "frames of any length, with the busiest core of {idle_device} at only "
                "{busiest_core_share}; the link is not the limit"),
            _("the same frame rate {sizes}, {found_frames_per_s}/s: the device handles this many "
                "frames of any length, as if its CPU were the limit; the link is not the limit"),
            rank=60,
            advice=_("nothing to do: the device needs the same time for each frame, whatever its "
                "length")),
        "line-rate": value(
            _("line rate {sizes}: no frame is lost at the full rate of the link of "
                "{link_rate_bit_per_s}, so the link is the limit there"),
            _("line rate {sizes}: the link is the limit there"), rank=61,
            advice=_("the device may do more than this link can show")),
        "bit-rate": value(
            _("the same bit rate {sizes}, {policed_bit_per_s} counted {accounted}: the limit there "
                "is a slower link, a shaper or a policer, not the time that a frame costs the "
                "device"), rank=62,
            advice=_("look for a link of that rate, a shaper or a policer behind the device")),
        "device": value(
            _("the device’s CPU is the limit {sizes}, with the busiest core of {device} at "
                "{busiest_core_share}: {rates}"),
            _("the device is the limit {sizes}: above {rates} it lost or delayed frames, and our "
                "own hosts dropped too few to explain that"), rank=63,
            advice=_("`observe` in the matrix records the device’s own load and drops")),
        "queue": value(
            _("{sizes} the device lost nothing at the next higher rate, but its queue grew by "
                "{queue_ns} within a trial: shorter trials would have passed at higher rates"),
            rank=64, advice=_("use long trials: short ones measure only the device’s queue")),
        "sender": value(
            _("our own sender, {at_host}, is the limit {sizes}, not the device: it could not send "
                "more than {rates}"),
            _("our own sender is the limit {sizes}, not the device: it could not send more than "
                "{rates}"), severity="warning", rank=11,
            advice=_("the device may do more: use several `streams`, `send_method: batch`, or a "
                "faster host")),
        "receiver": value(
            _("our own receiver, {at_host}, is the limit {sizes}, not the device: above {rates} "
                "its drops explain the loss, most of them {place}"),
            _("our own receiver is the limit {sizes}, not the device: above {rates} its drops "
                "explain the loss, most of them {place}"),
            _("our own receiver is the limit {sizes}, not the device: above {rates} its drops "
                "explain the loss"), severity="warning", rank=11,
            advice=_("the device may do more: enlarge `socket_buffer`, or use a faster receiver")),
        "none": value(
            _("no rate {sizes}: {because}"), severity="warning", rank=12,
            advice=_("check the trials of these sizes; other sizes are not affected"))})
warning(
    "search-doubt", rule="searches.beyond:doubts", section=RATES,
    condition="`not-monotone`: a trial of full length passed at a rate more than a step above the "
        "result, or failed below it because of the device. `outrun`: in two trials a sender "
        "without pacing exceeded 1.25 times the line rate; in the second, by more frames than its "
        "socket buffer holds. `paused`: an interface of a host counted pause frames [IEEE 802.3 "
        "annex 31B; Linux reports them since 5.10, for drivers that count them]",
    values={
        "not-monotone": value(
            _("no sharp limit {sizes}: a rate above the result passed, or a rate below the result "
                "failed"), rank=13,
            advice=_("the limit is not always present: look for other work or traffic of the "
                "device")),
        "outrun": value(
            _("frames were sent faster than the line rate of {link_rate_bit_per_s} {sizes}: the "
                "link has another rate, but the shares of the line rate refer to the stated one"),
            _("frames were sent faster than the line rate {sizes}: the link has another rate, but "
                "the shares of the line rate refer to the stated one"), rank=14,
            advice=_("state the rate that the link has")),
        "paused": value(
            _("flow control {sizes}: interfaces counted {pause_frames} pause frames, which slow "
                "the sender down before frames are lost"), severity="note", rank=66,
            advice=_("switch flow control off (ethtool -A INTERFACE rx off tx off) to see what is "
                "lost"))})
warning(
    "socket-buffer/search-capped",
    _("requested socket buffers of {asked_buffer_bytes} were capped at {least_buffer_bytes} "
        "{sizes}"), rank=65, section=RATES,
    condition="the effective socket buffer of one end of a search is smaller than requested",
    advice=_("raise rmem_max and wmem_max of the host; otherwise its receiver may be the limit"))
note(
    "frame-loss", rule="searches.beyond:beyond", section=RATES,
    condition="the frame loss test lost frames at an offered rate at least 10 % above the result. "
        "`overload`: the device forwarded fewer than 90 % of the frames per second that it "
        "forwards without loss; `steady`: at least 90 %. `own-hosts`: drops of our own hosts "
        "explain the loss, or the sender sent fewer frames than requested [RFC 2544, 26.3; Mogul "
        "and Ramakrishnan 1997: receive livelock]",
    values={
        "overload": value(
            _("overload slows the device {sizes}: at a higher offered rate it forwards "
                "{overloads}"), rank=65,
            advice=_("the device spends its time on frames that it drops later: limit the rate "
                "that it accepts")),
        "steady": value(
            _("{sizes} the device drops the excess over the rate found, and keeps forwarding at "
                "that rate: {losses}"), rank=79, leads=False,
            advice=_("above that rate the device has no room for the excess")),
        "own-hosts": value(
            _("the frame loss rate {sizes} is partly caused by our own hosts: at {shares} of the "
                "line rate their drops explain the loss, or they sent fewer frames than "
                "requested"), severity="warning", rank=55,
            advice=_("at these rates the figure does not describe the device: use faster "
                "hosts"))})
note(
    "back-to-back", section=RATES,
    condition="the search for back-to-back frames ended because the device lost frames (`device`: "
        "the longest burst that passed, and the frames that waited meanwhile), or because of a "
        "limit of our own hosts or failed trials (`own-hosts`) [RFC 2544, 26.4; RFC 9004]",
    values={
        "device": value(
            _("{sizes} the device passes a burst of {bursts} at line rate"), rank=80, leads=False,
            advice=_("the device’s queue has room for this many frames of that size")),
        "own-hosts": value(
            _("the longest burst {sizes} is not known: {because}"), severity="warning", rank=55,
            advice=_("use faster hosts or a larger `socket_buffer`: nothing is known about the "
                "device"))})
warning(
    "mtu-mismatch", rule="searches.payloads:payloads", rank=5, section=PAYLOADS,
    condition="the path MTU that a payload search found is smaller than the MTU of the sender’s "
        "interface. `reported`: a router reported it, or an interface of the sender dropped longer "
        "packets [RFC 1191; RFC 8201]; over TCP also if the segments do not use the stated MTU. "
        "`black-hole`: longer messages (UDP: three) got neither an answer nor an ICMP message [RFC "
        "2923]; the receiving host is named if its interface's MTU is the longest answered packet, "
        "or up to 4 bytes less",
    values={
        "black-hole": value(
            _("{way} packets of more than {path_mtu_bytes} bytes vanish without an ICMP message to "
                "the sender: a black hole; the interface of {narrow_host} has this MTU"),
            _("{way} packets of more than {path_mtu_bytes} bytes vanish without an ICMP message to "
                "the sender: a black hole"),
            advice=_("let ICMP “fragmentation needed” and “packet too big” pass, or give both ends "
                "of each cable one MTU")),
        "reported": value(
            _("{way} the path carries packets of {path_mtu_bytes} bytes, but the sender’s "
                "interface sends up to {interface_mtu_bytes}; the interface of {narrow_host} has "
                "the smaller MTU: {known_by}"),
            _("{way} the path carries packets of {path_mtu_bytes} bytes, but the sender’s "
                "interface sends up to {interface_mtu_bytes}: {known_by}"),
            _("{way} the path carries packets of {path_mtu_bytes} bytes, but the matrix states "
                "{link_mtu_bytes}: {known_by}"),
            _("{way} the path carries packets of {path_mtu_bytes} bytes: {known_by}"),
            advice=_("use the same MTU on the whole path, or state the path’s MTU in the matrix "
                "(`link`, `mtu`)"))})
warning(
    "fragments-lost",
    _("{way} messages of {next_message_bytes} bytes do not arrive, although the sender may "
        "fragment them: fragments do not pass"),
    rank=5, section=PAYLOADS,
    condition="a UDP message one byte longer than the found payload, sent three times without DF "
        "and fragmented by the sender, got no answer",
    advice=_("look for a firewall that drops fragments; until you have corrected it, send no "
        "messages that need fragments"))
note(
    "payload-found",
    _("messages of {payload_message_bytes} bytes fill a frame {way}, in packets of "
        "{path_mtu_bytes} bytes: {known_by}"),
    _("messages of {payload_message_bytes} bytes fill a frame {way}, in packets of "
        "{path_mtu_bytes} bytes"),
    _("messages of {payload_message_bytes} bytes fill a frame {way}: {known_by}"),
    _("messages of {payload_message_bytes} bytes fill a frame {way}"),
    rank=66, section=PAYLOADS,
    condition="the search has a result: in each direction, the longest message that was answered "
        "and fits one packet",
    advice=_("messages of this length have the least header overhead"))
note(
    "byte-more",
    _("{in_trials}: with messages longer than {payload_message_bytes} bytes throughput is "
        "{cost_share} lower, {next_bit_per_s} instead of {whole_bit_per_s}; the framing of a "
        "second frame explains {wire_cost_share}"),
    _("with messages longer than {payload_message_bytes} bytes throughput is {cost_share} lower, "
        "{next_bit_per_s} instead of {whole_bit_per_s}; the framing of a second frame explains "
        "{wire_cost_share}"),
    _("{in_trials}: with messages longer than {payload_message_bytes} bytes throughput is "
        "{cost_share} lower, {next_bit_per_s} instead of {whole_bit_per_s}"),
    _("with messages longer than {payload_message_bytes} bytes throughput is {cost_share} lower, "
        "{next_bit_per_s} instead of {whole_bit_per_s}"),
    rule="searches.payloads:byte_more", rank=67, section=PAYLOADS,
    condition="a UDP `sweep` over message sizes followed the search. In most trials the median "
        "throughput of sizes one and two bytes above the payload is lower than that of the payload "
        "and the two sizes below, by more than 1 % and more than twice the spread within each",
    advice=_("keep messages within one frame, or make them so long that they fill many frames"))
