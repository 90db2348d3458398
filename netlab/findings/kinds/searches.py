"""What searches for the highest rate and for the largest payload found: rows of the table of kinds.
Pure.
"""

from netlab.findings.kinds.kind import note, warning
from netlab.messages import _

RATES = "Searches for the highest rate (RFC 2544)"
PAYLOADS = "Searches for the largest payload"

# A table: as few lines a row as it takes.
# fmt: off

note(
    "search-frame-rate",
    _("one frame rate {sizes}, {found_frames_per_s}/s, with the busiest core of {device} at "
        "{busiest_core_share}: the device’s CPU is the limit there, not the link"),
    _("one frame rate {sizes}, {found_frames_per_s}/s: the device takes so many frames of any "
        "length, with the busiest core of {idle_device} at {busiest_core_share} only; the link "
        "is not the limit"),
    _("one frame rate {sizes}, {found_frames_per_s}/s: the device takes so many frames of any "
        "length, as where its CPU is the limit; the link is not"),
    rule="searches.limits:search_limits", rank=60, section=RATES,
    stated="the device limits three frame sizes and more over a factor of four, and one frame rate "
        "lies between the rate that passed and the one that did not of each of them (within 1 %; "
        "at most 10 % apart for three), each under 95 % of the line rate. The device’s core is "
        "named where it is observed, is no machine of the testers, and was 97 % busy and more in "
        "the trials that failed [RFC 2544, 26.1; Mogul and Ramakrishnan 1997]",
    advice=_("that is the result: what a frame costs the device, whatever its length"))
note(
    "search-line-rate",
    _("line rate {sizes}: no frame is lost at all that the link of {link_rate_bit_per_s} carries, "
        "so that the link is the limit there"),
    _("line rate {sizes}: the link is the limit there"), rank=61, section=RATES,
    stated="the line rate itself passed, and the sender was not faster than it [RFC 2544, 26.1]",
    advice=_("the device may do more than this link can show"))
note(
    "search-policer",
    _("one bit rate {sizes}, {policed_bit_per_s} counted {accounted}: a slower link, a shaper or a "
        "policer is the limit there, not what a frame costs"),
    rank=62, section=RATES,
    stated="the device limits three frame sizes and more over a factor of four, and one rate in "
        "bit/s lies between the bounds of each (within 1 %; at most 5 % apart for three), counted "
        "on the wire, in frames with or without FCS, or in IP packets; each under 95 % of the line "
        "rate. Where the bounds leave several ways to count, all are named",
    advice=_("look for a link of that rate, a shaper or a policer behind the device"))
note(
    "search-device",
    _("the device’s CPU is the limit {sizes}, the busiest core of {device} at "
        "{busiest_core_share}: {rates}"),
    _("the device is the limit {sizes}: above {rates} it lost frames or held them up, and our own "
        "hosts dropped too few of them to account for that"),
    rank=63, section=RATES,
    stated="what ended the search were frames lost, or held up, between the hosts, beyond what "
        "these count as dropped by themselves; of sizes that share neither a frame rate nor a bit "
        "rate. Its CPU is named as for `search-frame-rate`",
    advice=_("that is the result; `observe` in the matrix records the device’s own load and drops"))
note(
    "search-queue",
    _("{sizes} the device lost nothing at the next higher rate, but its queue grew, by {queue_ns} "
        "within a trial: shorter trials would have passed more"),
    rank=64, section=RATES,
    stated="at the lowest rate that did not pass no trial lost frames, and some was `absorbed`: "
        "frames took longer to come out than to go in by more than half a step of the trial’s time",
    advice=_("go by long trials: short ones measure the device’s queue"))
warning(
    "search-generator-bound",
    _("our own sender, {at_host}, is the limit {sizes}, not the device: it could not send more "
        "than {rates}"),
    _("our own sender is the limit {sizes}, not the device: it could not send more than {rates}"),
    rank=11, section=RATES,
    stated="a rate was not sent as asked for, three times, short by more than 0.1 % and by half "
        "a step; nothing was lost there",
    advice=_("the device may do more: several `streams`, `send_method: batch`, or a faster host"))
warning(
    "search-receiver-bound",
    _("our own receiver, {at_host}, is the limit {sizes}, not the device: above {rates} it dropped "
        "as many frames as were lost, most of them {place}"),
    _("our own receiver is the limit {sizes}, not the device: above {rates} it dropped as many "
        "frames as were lost, most of them {place}"),
    _("our own receiver is the limit {sizes}, not the device: above {rates} it dropped as many "
        "frames as were lost"),
    rank=11, section=RATES,
    stated="a rate failed three times by loss that our own hosts’ drops (interface, backlog, "
        "socket) cover",
    advice=_("the device may do more: enlarge `socket_buffer`, or take a faster receiver"))
warning(
    "search-no-rate",
    _("no rate {sizes}: {because}"), rank=12, section=RATES,
    stated="a search ended without a rate; said of these frame sizes only",
    advice=_("look at the trials of these sizes; others are not touched by it"))
warning(
    "search-not-monotone",
    _("no sharp limit {sizes}: a rate above the one found passed, or one below it failed"),
    rule="searches.doubts:doubts", rank=13, section=RATES,
    stated="a trial of full length passed more than a step above the rate found, or one below it "
        "failed for the device",
    advice=_("what limits it comes and goes: look for other work or traffic of the device"))
warning(
    "search-outrun",
    _("frames went out faster than the line rate of {link_rate_bit_per_s} {sizes}: the link is "
        "another one, and shares are of the rate stated"),
    _("frames went out faster than the line rate {sizes}: the link is another one, and shares are "
        "of the rate stated"),
    rank=14, section=RATES,
    stated="in two trials a sender without a schedule was faster than 1.25 times the line rate, by "
        "more frames than its socket’s buffer holds",
    advice=_("state the rate that the link has"))
warning(
    "search-buffer-capped",
    _("socket buffers of {asked_buffer_bytes} were not given as asked for {sizes}: "
        "{least_buffer_bytes} in effect"), rank=65, section=RATES,
    stated="an end of a search read back a smaller buffer than was asked for",
    advice=_("raise rmem_max and wmem_max of the host, or its receiver may be the limit"))
note(
    "search-paused",
    _("flow control {sizes}: interfaces counted {pause_frames} pause frames, which slow a sender "
        "down where frames would be lost"),
    rule="searches.doubts:doubts", rank=66, section=RATES,
    stated="an interface of one of the hosts sent or received pause frames in a trial [IEEE 802.3 "
        "annex 31B, counters of 30.3.4; Linux tells them since 5.10, of drivers that count them]",
    advice=_("switch flow control off (ethtool -A INTERFACE rx off tx off) to see what is lost"))
note(
    "search-overload",
    _("overload slows the device {sizes}: offered more it forwards {overloads}"),
    rule="searches.beyond:beyond", rank=65, section=RATES,
    stated="at a rate of the frame loss rate above the one found, lost by the device, fewer than "
        "90 % of the frames a second came out that it forwards without loss [RFC 2544, 26.3; "
        "Mogul and Ramakrishnan 1997: receive livelock]",
    advice=_("the device spends its time on frames that it drops: limit what it takes in"))
note(
    "search-loss",
    _("{sizes} the device loses what is more than the rate found, and goes on at it: {losses}"),
    rank=79, leads=False, section=RATES,
    stated="the same with 90 % and more: the highest rate offered at which it lost frames",
    advice=_("the loss above the rate is what the device has no room for"))
warning(
    "search-loss-own",
    _("the frame loss rate {sizes} is in part that of our own hosts: they dropped as many frames "
        "as were lost, or sent fewer than asked for, at {shares} of the line rate"),
    rank=55, section=RATES,
    stated="a trial of the frame loss rate was lost by the tester, or generator-bound",
    advice=_("at these rates the figure is not the device's: take faster hosts"))
note(
    "search-burst",
    _("{sizes} the device takes a burst at line rate of {bursts}"),
    rank=80, leads=False, section=RATES,
    stated="the search for back-to-back frames ended by the device’s loss; the frames waiting are "
        "those that it did not send on meanwhile [RFC 2544, 26.4; RFC 9004]",
    advice=_("so many frames are the room of its queue at that size"))
warning(
    "search-burst-own",
    _("the longest burst {sizes} is not known: {because}"), rank=55, section=RATES,
    stated="the search for back-to-back frames ended by our own hosts, or its trials failed",
    advice=_("take faster hosts or larger `socket_buffer`: nothing is known of the device"))
warning(
    "black-hole",
    _("{way} packets of more than {path_mtu_bytes} bytes vanish without a word, as the interface "
        "of {narrow_host} has its MTU: a black hole, since nobody tells the sender (ICMP)"),
    _("{way} packets of more than {path_mtu_bytes} bytes vanish without a word: a black hole, "
        "since nobody tells the sender (ICMP)"),
    rule="searches.payloads:payloads", rank=5, section=PAYLOADS,
    stated="messages that may not be fragmented, or TCP’s segments, are answered up to a length "
        "under the MTU of the sender’s interface, and none of three longer ones is, nor is the "
        "sender told [RFC 2923]; named is a host whose interface has that MTU",
    advice=_("let ICMP “fragmentation needed” and “packet too big” pass, or give both ends of each "
        "cable one MTU"))
warning(
    "path-mtu-smaller",
    _("{way} the path carries packets of {path_mtu_bytes} bytes where the sender’s interface "
        "takes {interface_mtu_bytes}, as the interface of {narrow_host} has its MTU: {known_by}"),
    _("{way} the path carries packets of {path_mtu_bytes} bytes where the sender’s interface "
        "takes {interface_mtu_bytes}: {known_by}"),
    _("{way} the path carries packets of {path_mtu_bytes} bytes where the link is stated with "
        "{link_mtu_bytes}: {known_by}"),
    _("{way} the path carries packets of {path_mtu_bytes} bytes: {known_by}"),
    rank=5, section=PAYLOADS,
    stated="the search ended by what a router told the sender, or by an interface that drops what "
        "its system let out, below the MTU of the sender’s interface [RFC 1191; RFC 8201]; of TCP "
        "also where the segments agreed on leave the link’s MTU unused",
    advice=_("give all of the path one MTU, or state the one that it has"))
warning(
    "fragments-lost",
    _("{way} messages of {next_message_bytes} bytes do not arrive, though the sender may cut them "
        "up: fragments do not pass"),
    rank=5, section=PAYLOADS,
    stated="UDP messages one byte longer than the payload found, without DF, came back in none of "
        "three tries, where the sender knows how long its packets may be and cuts them up",
    advice=_("look for a firewall that drops fragments; until then send no longer messages"))
note(
    "payload-found",
    _("{payload_message_bytes} bytes fill a frame {way}, packets of {path_mtu_bytes} bytes: "
        "{known_by}"),
    _("{payload_message_bytes} bytes fill a frame {way}, packets of {path_mtu_bytes} bytes"),
    _("{payload_message_bytes} bytes fill a frame {way}: {known_by}"),
    _("{payload_message_bytes} bytes fill a frame {way}"),
    rank=66, section=PAYLOADS,
    stated="the answer of a search: the longest message that came back in one packet, each way",
    advice=_("messages of this length have the least headers a byte"))
note(
    "byte-more",
    _("{in_trials}: one byte more than {payload_message_bytes} costs {cost_share} of throughput: "
        "{whole_bit_per_s} before, {next_bit_per_s} after; the second frame alone takes "
        "{wire_cost_share}"),
    _("one byte more than {payload_message_bytes} costs {cost_share} of throughput: "
        "{whole_bit_per_s} before, {next_bit_per_s} after; the second frame alone takes "
        "{wire_cost_share}"),
    _("{in_trials}: one byte more than {payload_message_bytes} costs {cost_share} of throughput: "
        "{whole_bit_per_s} before, {next_bit_per_s} after"),
    _("one byte more than {payload_message_bytes} costs {cost_share} of throughput: "
        "{whole_bit_per_s} before, {next_bit_per_s} after"),
    rule="searches.byte_more:byte_more", rank=67, section=PAYLOADS,
    stated="of a UDP sweep the median of the two sizes above the payload lies under that of the "
        "three up to it by 1 % and more and by twice the spread on either side, in most trials",
    advice=_("keep messages within one frame, or make them of many"))
