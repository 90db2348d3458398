"""Kinds of findings about searches for the highest rate and for the largest payload. No I/O."""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

RATES = "Searches for the highest rate (RFC 2544)"
PAYLOADS = "Searches for the largest payload"

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

note(
    "search-limit/frame-rate",
    _("the same frame rate {sizes}, {found_frames_per_s}/s, with the busiest core of {device} "
        "at {busiest_core_share}: the device’s CPU is the limit there, not the link"),
    _("the same frame rate {sizes}, {found_frames_per_s}/s: the device handles this many frames "
        "of any length, with the busiest core of {idle_device} at only {busiest_core_share}; "
        "the link is not the limit"),
    _("the same frame rate {sizes}, {found_frames_per_s}/s: the device handles this many frames "
        "of any length, as if its CPU were the limit; the link is not the limit"),
    rule="searches.limits:search_limits", rank=60, section=RATES,
    condition="the device is the limit at three or more neighbouring frame sizes. The largest of "
        "these sizes is at least four times the smallest. For each size, a search gives two "
        "bounds: the highest rate that passed, and the next rate, which failed. The same frame "
        "rate is between the bounds of every size (within 1 %). The highest rate that passed is "
        "below 95 % of the line rate for every size. At least three of the sizes, again over a "
        "factor of four, have bounds at most 10 % apart. The finding also has the load of the "
        "device's busiest core in the trials that failed, if the device is observed and is not one "
        "of the testing machines. This load is stated if it is at least 97 % for every size, or "
        "less than 90 % in all these trials [RFC 2544, 26.1; Mogul and Ramakrishnan 1997]",
    advice=_("nothing to do: the device needs the same time for each frame, whatever its length"))
note(
    "search-limit/line-rate",
    _("line rate {sizes}: no frame is lost at the full rate of the link of "
        "{link_rate_bit_per_s}, so the link is the limit there"),
    _("line rate {sizes}: the link is the limit there"), rank=61, section=RATES,
    condition="a trial at the line rate passed, and the sender did not exceed this rate [RFC 2544, "
        "26.1]",
    advice=_("the device may do more than this link can show"))
note(
    "search-limit/bit-rate",
    _("the same bit rate {sizes}, {policed_bit_per_s} counted {accounted}: the limit there is a "
        "slower link, a shaper or a policer, not the time that a frame costs the device"),
    rank=62, section=RATES,
    condition="as `search-limit/frame-rate`, but the sizes have one common rate in bit/s instead "
        "of frames per second. At least three of the sizes, over a factor of four, have bounds at "
        "most 5 % apart. The bits are counted in one of four ways: on the wire, in frames with "
        "FCS, in frames without FCS, or in IP packets. If more than one of these ways fits, the "
        "finding names all of them",
    advice=_("look for a link of that rate, a shaper or a policer behind the device"))
note(
    "search-limit/device",
    _("the device’s CPU is the limit {sizes}, with the busiest core of {device} at "
        "{busiest_core_share}: {rates}"),
    _("the device is the limit {sizes}: above {rates} it lost or delayed frames, and our own "
        "hosts dropped too few to explain that"),
    rank=63, section=RATES,
    condition="the search ended because frames were lost or delayed between the hosts, and the "
        "hosts' own drops do not explain the loss. `search-limit/frame-rate` and "
        "`search-limit/bit-rate` do not apply to these frame sizes. The finding names the device's "
        "CPU if its busiest core was at least 97 % busy (see `search-limit/frame-rate`)",
    advice=_("`observe` in the matrix records the device’s own load and drops"))
note(
    "search-limit/queue",
    _("{sizes} the device lost nothing at the next higher rate, but its queue grew by "
        "{queue_ns} within a trial: shorter trials would have passed at higher rates"),
    rank=64, section=RATES,
    condition="at the lowest rate that did not pass, no trial lost frames, but receiving the "
        "frames of at least one trial took longer than sending them. The difference is more than "
        "the trial’s length times half of the setting `resolution` (with its default: 0.25 % of "
        "the length). So a queue grew (the verdict on such a trial is `absorbed`)",
    advice=_("use long trials: short ones measure only the device’s queue"))
warning(
    "search-limit/sender",
    _("our own sender, {at_host}, is the limit {sizes}, not the device: it could not send more "
        "than {rates}"),
    _("our own sender is the limit {sizes}, not the device: it could not send more than {rates}"),
    rank=11, section=RATES,
    condition="in three trials at one rate, the sender was slower than requested, by more than 0.1 "
        "% of the requested rate and by more than half a step. These trials lost no more frames "
        "than `acceptable_loss` allows (by default none)",
    advice=_("the device may do more: use several `streams`, `send_method: batch`, or a faster "
        "host"))
warning(
    "search-limit/receiver",
    _("our own receiver, {at_host}, is the limit {sizes}, not the device: above {rates} its drops "
        "explain the loss, most of them {place}"),
    _("our own receiver is the limit {sizes}, not the device: above {rates} its drops explain the "
        "loss, most of them {place}"),
    _("our own receiver is the limit {sizes}, not the device: above {rates} its drops explain the "
        "loss"),
    rank=11, section=RATES,
    condition="in three trials at one rate, frames were lost, and the drops of our own hosts "
        "(interface, queue, backlog, socket) explain this loss",
    advice=_("the device may do more: enlarge `socket_buffer`, or use a faster receiver"))
warning(
    "search-limit/none",
    _("no rate {sizes}: {because}"), rank=12, section=RATES,
    condition="a search ended without a rate: even the lowest rate that it tried did not pass",
    advice=_("check the trials of these sizes; other sizes are not affected"))
warning(
    "search-doubt/not-monotone",
    _("no sharp limit {sizes}: a rate above the result passed, or a rate below the result failed"),
    rule="searches.doubts:doubts", rank=13, section=RATES,
    condition="a trial of full length passed at a rate more than a step above the result. Or a "
        "trial at a rate below the result failed because of the device",
    advice=_("the limit is not always present: look for other work or traffic of the device"))
warning(
    "search-doubt/outrun",
    _("frames were sent faster than the line rate of {link_rate_bit_per_s} {sizes}: the link "
        "has another rate, but the shares of the line rate refer to the stated one"),
    _("frames were sent faster than the line rate {sizes}: the link has another rate, but the "
        "shares of the line rate refer to the stated one"),
    rank=14, section=RATES,
    condition="in two trials, a sender without pacing exceeded 1.25 times the line rate. In the "
        "second trial, the excess was more frames than the sender's socket buffer holds",
    advice=_("state the rate that the link has"))
warning(
    "socket-buffer/search-capped",
    _("requested socket buffers of {asked_buffer_bytes} were capped at {least_buffer_bytes} "
        "{sizes}"), rank=65, section=RATES,
    condition="the effective socket buffer of one end of a search is smaller than requested",
    advice=_("raise rmem_max and wmem_max of the host; otherwise its receiver may be the limit"))
note(
    "search-doubt/paused",
    _("flow control {sizes}: interfaces counted {pause_frames} pause frames, which slow the "
        "sender down before frames are lost"),
    rule="searches.doubts:doubts", rank=66, section=RATES,
    condition="an interface of one of the hosts sent or received pause frames in a trial [IEEE "
        "802.3 annex 31B, counters of 30.3.4; Linux reports them since 5.10, for drivers that "
        "count them]",
    advice=_("switch flow control off (ethtool -A INTERFACE rx off tx off) to see what is lost"))
note(
    "frame-loss/overload",
    _("overload slows the device {sizes}: at a higher offered rate it forwards {overloads}"),
    rule="searches.beyond:beyond", rank=65, section=RATES,
    condition="in the frame loss test, the device lost frames at an offered rate at least 10 % "
        "above the result of the search. The device forwarded fewer than 90 % of the frames per "
        "second that it forwards without loss [RFC 2544, 26.3; Mogul and Ramakrishnan 1997: "
        "receive livelock]",
    advice=_("the device spends its time on frames that it drops later: limit the rate that it "
        "accepts"))
note(
    "frame-loss/steady",
    _("{sizes} the device drops the excess over the rate found, and keeps forwarding at that "
        "rate: {losses}"),
    rank=79, leads=False, section=RATES,
    condition="as `frame-loss/overload`, but the device forwarded at least 90 % of the frames per "
        "second that it forwards without loss. The finding has the highest offered rate at which "
        "the device lost frames",
    advice=_("above that rate the device has no room for the excess"))
warning(
    "frame-loss/own-hosts",
    _("the frame loss rate {sizes} is partly caused by our own hosts: at {shares} of the line "
        "rate their drops explain the loss, or they sent fewer frames than requested"),
    rank=55, section=RATES,
    condition="in a trial of the frame loss test, the drops of our own hosts explain the loss, or "
        "the sender sent fewer frames than requested",
    advice=_("at these rates the figure does not describe the device: use faster hosts"))
note(
    "back-to-back/device",
    _("{sizes} the device passes a burst of {bursts} at line rate"),
    rank=80, leads=False, section=RATES,
    condition="the search for back-to-back frames ended because the device lost frames. The "
        "finding has the length of the longest burst that passed. It also has the number of frames "
        "that waited in the device while the burst arrived [RFC 2544, 26.4; RFC 9004]",
    advice=_("the device’s queue has room for this many frames of that size"))
warning(
    "back-to-back/own-hosts",
    _("the longest burst {sizes} is not known: {because}"), rank=55, section=RATES,
    condition="the search for back-to-back frames ended because of a limit of our own hosts, or "
        "its trials failed",
    advice=_("use faster hosts or a larger `socket_buffer`: nothing is known about the device"))
warning(
    "mtu-mismatch/black-hole",
    _("{way} packets of more than {path_mtu_bytes} bytes vanish without an ICMP message to the "
        "sender: a black hole; the interface of {narrow_host} has this MTU"),
    _("{way} packets of more than {path_mtu_bytes} bytes vanish without an ICMP message to the "
        "sender: a black hole"),
    rule="searches.payloads:payloads", rank=5, section=PAYLOADS,
    condition="the search sends messages that must not be fragmented, or TCP segments. The sender "
        "gets answers only up to a packet length below the MTU of its interface. For longer "
        "messages the sender gets neither an answer (UDP: to none of three messages) nor an ICMP "
        "message [RFC 2923]. The finding names the receiving host if the MTU of this host's "
        "interface is the length of the longest answered packet, or up to 4 bytes less",
    advice=_("let ICMP “fragmentation needed” and “packet too big” pass, or give both ends of each "
        "cable one MTU"))
warning(
    "mtu-mismatch/reported",
    _("{way} the path carries packets of {path_mtu_bytes} bytes, but the sender’s interface "
        "sends up to {interface_mtu_bytes}; the interface of {narrow_host} has the smaller MTU: "
        "{known_by}"),
    _("{way} the path carries packets of {path_mtu_bytes} bytes, but the sender’s interface "
        "sends up to {interface_mtu_bytes}: {known_by}"),
    _("{way} the path carries packets of {path_mtu_bytes} bytes, but the matrix states "
        "{link_mtu_bytes}: {known_by}"),
    _("{way} the path carries packets of {path_mtu_bytes} bytes: {known_by}"),
    rank=5, section=PAYLOADS,
    condition="the path MTU that the search found is smaller than the MTU of the sender’s "
        "interface. Either a router reported the limit to the sender, or an interface of the "
        "sender dropped longer packets [RFC 1191; RFC 8201]. For TCP also stated if the negotiated "
        "segment size does not use the full MTU of the link",
    advice=_("use the same MTU on the whole path, or state the path’s MTU in the matrix (`link`, "
        "`mtu`)"))
warning(
    "fragments-lost",
    _("{way} messages of {next_message_bytes} bytes do not arrive, although the sender may "
        "fragment them: fragments do not pass"),
    rank=5, section=PAYLOADS,
    condition="a UDP message one byte longer than the found payload was sent three times without "
        "DF. The sender knows the path MTU and fragments this message, but no answer came",
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
    rule="searches.byte_more:byte_more", rank=67, section=PAYLOADS,
    condition="the search was followed by a UDP `sweep` over message sizes. The rule compares two "
        "groups of sizes: one and two bytes above the found payload, and the payload with the two "
        "sizes just below. In most trials the median throughput of the longer messages is lower. "
        "The difference is more than 1 %, and more than twice the spread within each of the two "
        "groups",
    advice=_("keep messages within one frame, or make them so long that they fill many frames"))
