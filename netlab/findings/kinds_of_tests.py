"""Rows of the table of kinds: round trips, searches, latency under load, TCP over time, traffic."""

from netlab.findings.kind import note, value, warning
from netlab.messages import _

# This is a table: each row has as few lines as possible, so it is not formatted.
# fmt: off

warning("below-floor", _("{what} took {typical_trip_ns} (the shortest {shortest_trip_ns}), but "
        "their frames alone take {floor_trip_ns} on {link}: a shaper passes short bursts faster, "
        "or the path is another one"),
    _("the shortest of the {what} took {shortest_trip_ns}, but its frames alone take "
        "{floor_trip_ns} on {link}: a shaper passes short bursts faster, or the path is another "
        "one"), rule="round_trips:below_floor", rank=11,
    advice=_("state the real rate of the link and the routers on it; on a link with a shaper use "
        "rates, not times"))
warning("trip-waited-for-cpu", _("{cause} for {waited_trip_ns} of the mean time of {mean_trip_ns}; "
        "the mean of trials with shorter waits is {best_trip_ns}"),
    _("{cause} for {waited_trip_ns} of the mean time of {mean_trip_ns}"),
    rule="round_trips:waited", rank=12,
    advice=_("this time is due to the host, not to the path: stop other programs there, raise the "
        "quota, or let `quiet` in the matrix repeat such trials"))
warning("first-packet-lost", _("{lost_connections} of {connections} connections took up to "
        "{longest_trip_ns}, typical of a lost SYN or SYN-ACK, which is sent again after 1 s; "
        "without them the mean is {mean_without_trip_ns} instead of {mean_trip_ns}"),
    rule="round_trips:first_packet_lost", rank=13,
    advice=_("check the path for loss, and the server for a listen queue that overflows"))
note("two-modes", _("the times fall into two groups, {lower_share} about {lower_trip_ns} and "
        "{upper_share} about {upper_trip_ns}; {suspect}"),
    _("the times fall into two groups, {lower_share} about {lower_trip_ns} and {upper_share} about "
        "{upper_trip_ns}"), rule="round_trips:two_groups", rank=66,
    advice=_("the mean describes neither group: use percentiles, and find what switches between "
        "them"))
note("rtt-outliers", _("{long_trips} of {trips} {what} took more than ten times the median of "
        "{median_trip_ns}, up to {longest_trip_ns}; without them the mean is "
        "{mean_without_trip_ns} instead of {mean_trip_ns}; TCP sent {segments} again"),
    _("{long_trips} of {trips} {what} took more than ten times the median of {median_trip_ns}, "
        "up to {longest_trip_ns}; without them the mean is {mean_without_trip_ns} instead of "
        "{mean_trip_ns}; the ends waited {waited_ns} for a CPU in that time"),
    _("{long_trips} of {trips} {what} took more than ten times the median of {median_trip_ns}, "
        "up to {longest_trip_ns}; without them the mean is {mean_without_trip_ns} instead of "
        "{mean_trip_ns}"), rule="round_trips:outliers", rank=68,
    advice=_("use the median, and find what delays single messages"))
note("comparison",
    values={
        "differs": value(_("{least_ratio} to {most_ratio} times as long as with {baseline}, shown "
                "in {differing} of {all_pairs} (n = {n})"),
            _("{only_ratio} times as long as with {baseline}, shown in 1 of {all_pairs} (n = {n})"),
            _("{ratio} times as long as with {baseline}, the mean of {pairs_of_cells} (99 %: "
                "{low_ratio} to {high_ratio}, n = {n})"),
            _("{ratio} times as long as with {baseline} (99 %: {low_ratio} to {high_ratio}, n = "
                "{n})"), rule="buffers:variants", rank=65,
            advice=_("the table of round trips has each cell with its interval")),
        "inconclusive": value(_("the comparison with {baseline} is inconclusive (n = {n}; a "
                "difference of {detectable_share} could have been detected)"), rank=80, leads=False,
            advice=_("more trials show smaller differences"))})
note("longer-path", rule="path_times:path_times", rank=65,
    values={
        "packets": value(_("{what} take at least {longer_trip_ns}, and {other_trip_ns} with other "
                "packets: the path is longer for these")),
        "trials": value(_("{what} take at least {longer_trip_ns}, and {other_trip_ns} in the other "
                "trials: the path was longer then")),
        "times": value(_("{what} take {longer_trip_ns} on average, and {other_trip_ns} at least, "
                "with little between: the path is longer some of the time"))},
    advice=_("look for a detour, or for a queue that others fill"))
note("path-jitter", _("{what} take {longer_trip_ns} on average, and {other_trip_ns} at least: "
        "requests arrive {requests_later_ns} later on average than the fastest one"),
    _("{what} take {longer_trip_ns} on average, and {other_trip_ns} at least: answers arrive "
        "{answers_later_ns} later on average than the fastest one"),
    _("{what} take {longer_trip_ns} on average, and {other_trip_ns} at least: the time on the path "
        "varies"), rank=66,
    advice=_("look for a queue that others fill, or for a radio link on the path"))
note("trips", rule="path_times:odd_trips", rank=64,
    values={
        "lost-there": value(_("{odd_share} of the requests did not reach {server}")),
        "lost-back": value(_("{odd_share} of the answers that {server} sent did not arrive")),
        "damaged-there": value(
            _("{odd_share} of the requests reached {server} with a wrong checksum")),
        "damaged-back": value(
            _("{odd_share} of the answers that {server} sent arrived with a wrong checksum")),
        "overtaken-there": value(
            _("{odd_share} of the requests reached {server} after later ones"),
            _("requests reached {server} out of order")),
        "overtaken-back": value(
            _("{odd_share} of the answers that {server} sent arrived after later ones"),
            _("answers that {server} sent arrived out of order")),
        "copied-there": value(_("{odd_share} of the requests reached {server} twice")),
        "copied-back": value(_("{odd_share} of the answers that {server} sent arrived twice"))},
    advice=_("check that direction of the path: a duplex mode, a short queue, errors, or a loop"))
note("trip-made-of",
    _("a mean time of {mean_trip_ns} consists of {trip_parts}; the rest is {rest_trip_ns}"),
    rule="round_trips:made_of", rank=79, leads=False,
    advice=_("shortening the largest part gains the most"))
note("search-limit", rule="search_limits:search_limits",
    values={
        "frame-rate": value(_("the same frame rate {sizes}, {found_frames_per_s}/s, with the "
                "busiest core of {device} at {busiest_core_share}: the device’s CPU is the limit "
                "there, not the link"),
            _("the same frame rate {sizes}, {found_frames_per_s}/s: the device handles this many "
                "frames of any length, with the busiest core of {idle_device} at only "
                "{busiest_core_share}; the link is not the limit"),
            _("the same frame rate {sizes}, {found_frames_per_s}/s: the device handles this many "
                "frames of any length, as if its CPU were the limit; the link is not the limit"),
            rank=60, advice=_("nothing to do: the device needs the same time for each frame, "
                "whatever its length")),
        "line-rate": value(_("line rate {sizes}: no frame is lost at the full rate of the link of "
                "{link_rate_bit_per_s}, so the link is the limit there"),
            _("line rate {sizes}: the link is the limit there"), rank=61,
            advice=_("the device may do more than this link can show")),
        "bit-rate": value(_("the same bit rate {sizes}, {policed_bit_per_s} counted {accounted}: "
                "the limit there is a slower link, a shaper or a policer, not the time that a "
                "frame costs the device"), rank=62,
            advice=_("look for a link of that rate, a shaper or a policer behind the device")),
        "device": value(_("the device’s CPU is the limit {sizes}, with the busiest core of "
                "{device} at {busiest_core_share}: {rates}"),
            _("a queue in the device or in our own hosts is the limit {sizes}: above {rates} it "
                "grew by {queue_ns} within a trial"),
            _("the device is the limit {sizes}: above {rates} it lost or delayed frames, and our "
                "own hosts dropped too few to explain that"), rank=63,
            advice=_("`observe` in the matrix records the device’s own load and drops")),
        "queue": value(
            _("{sizes} the device lost nothing at the next higher rate, but its queue grew by "
                "{queue_ns} ({queue_bytes}) within a trial: shorter trials would have passed"),
            _("{sizes} nothing was lost at the next higher rate, but a queue in the device or in "
                "our hosts grew by {queue_ns} within a trial: shorter trials would have passed"),
            rank=64, advice=_("use long trials: short ones measure only the queue")),
        "sender": value(_("our own sender, {at_host}, is the limit {sizes}, not the device: it "
                "could not send more than {rates}"),
            _("our own sender is the limit {sizes}, not the device: it could not send more than "
                "{rates}"), severity="warning", rank=11,
            advice=_("the device may do more: use several `streams`, `send_method: batch`, or a "
                "faster host")),
        "receiver": value(_("our own receiver, {at_host}, is the limit {sizes}, not the device: "
                "above {rates} its drops explain the loss, most of them {place}"),
            _("our own receiver is the limit {sizes}, not the device: above {rates} its drops "
                "explain the loss, most of them {place}"),
            _("our own receiver is the limit {sizes}, not the device: above {rates} its drops "
                "explain the loss"), severity="warning", rank=11,
            advice=_("the device may do more: enlarge `socket_buffer`, or use a faster receiver")),
        "none": value(_("no rate {sizes}: {because}"), severity="warning", rank=12,
            advice=_("check the trials of these sizes; other sizes are not affected"))})
warning("search-doubt", rule="search_more:doubts",
    values={
        "not-monotone": value(_("no sharp limit {sizes}: a rate above the result passed, or a rate "
                "below the result failed"), rank=13,
            advice=_("the limit is not always present: look for other work or traffic of the "
                "device")),
        "outrun": value(
            _("frames were sent faster than the line rate of {link_rate_bit_per_s} {sizes}: the "
                "link has another rate, but the shares of the line rate refer to the stated one"),
            _("frames were sent faster than the line rate {sizes}: the link has another rate, but "
                "the shares of the line rate refer to the stated one"), rank=14,
            advice=_("state the rate that the link has")),
        "paused": value(_("flow control {sizes}: interfaces counted {pause_frames} pause frames, "
                "which slow the sender down before frames are lost"), severity="note", rank=66,
            advice=_("switch flow control off (ethtool -A INTERFACE rx off tx off) to see what is "
                "lost"))})
warning("socket-buffer/search-capped", _("requested socket buffers of {asked_buffer_bytes} were "
        "capped at {least_buffer_bytes} {sizes}"), rank=65,
    advice=_("raise rmem_max and wmem_max of the host; otherwise its receiver may be the limit"))
note("frame-loss", rule="search_more:beyond",
    values={
        "overload": value(_("overload slows the device {sizes}: at a higher offered rate it "
                "forwards {overloads}"), rank=65,
            advice=_("the device spends its time on frames that it drops later: limit the rate "
                "that it accepts")),
        "steady": value(_("{sizes} the device drops the excess over the rate found, and keeps "
                "forwarding at that rate: {losses}"), rank=79, leads=False,
            advice=_("above that rate the device has no room for the excess")),
        "own-hosts": value(_("the frame loss rate {sizes} is partly caused by our own hosts: at "
                "{shares} of the line rate their drops explain the loss, or they sent fewer frames "
                "than requested"), severity="warning", rank=55,
            advice=_("at these rates the figure does not describe the device: use faster hosts"))})
note("back-to-back",
    values={
        "device": value(
            _("{sizes} the device passes a burst of {bursts} at line rate"), rank=80, leads=False,
            advice=_("the device’s queue has room for this many frames of that size")),
        "own-hosts": value(
            _("the longest burst {sizes} is not known: {because}"), severity="warning", rank=55,
            advice=_("use faster hosts or a larger `socket_buffer`: nothing is known about the "
                "device"))})
warning("mtu-mismatch", rule="search_more:payloads", rank=5,
    values={
        "black-hole": value(
            _("{way} packets of more than {path_mtu_bytes} bytes vanish without an ICMP message to "
                "the sender: a black hole; the interface of {narrow_host} has this MTU"),
            _("{way} packets of more than {path_mtu_bytes} bytes vanish without an ICMP message to "
                "the sender: a black hole"),
            advice=_("let ICMP “fragmentation needed” and “packet too big” pass, or give both ends "
                "of each cable one MTU")),
        "reported": value(_("{way} the path carries packets of {path_mtu_bytes} bytes, but the "
                "sender’s interface sends up to {interface_mtu_bytes}; the interface of "
                "{narrow_host} has the smaller MTU: {known_by}"),
            _("{way} the path carries packets of {path_mtu_bytes} bytes, but the sender’s "
                "interface sends up to {interface_mtu_bytes}: {known_by}"),
            _("{way} the path carries packets of {path_mtu_bytes} bytes, but the matrix states "
                "{link_mtu_bytes}: {known_by}"),
            _("{way} the path carries packets of {path_mtu_bytes} bytes: {known_by}"),
            advice=_("use the same MTU on the whole path, or state the path’s MTU in the matrix "
                "(`link`, `mtu`)"))})
warning("fragments-lost", _("{way} messages of {next_message_bytes} bytes do not arrive, although "
        "the sender may fragment them: fragments do not pass"), rank=5,
    advice=_("look for a firewall that drops fragments; until you have corrected it, send no "
        "messages that need fragments"))
note("payload-found", _("messages of {payload_message_bytes} bytes fill a frame {way}, in packets "
        "of {path_mtu_bytes} bytes: {known_by}"),
    _("messages of {payload_message_bytes} bytes fill a frame {way}, in packets of "
        "{path_mtu_bytes} bytes"),
    _("messages of {payload_message_bytes} bytes fill a frame {way}: {known_by}"),
    _("messages of {payload_message_bytes} bytes fill a frame {way}"), rank=66,
    advice=_("messages of this length have the least header overhead"))
note("byte-more", _("with messages longer than {payload_message_bytes} bytes throughput is "
        "{cost_share} lower, {next_bit_per_s} instead of {whole_bit_per_s}; the framing of a "
        "second frame explains {wire_cost_share}"),
    _("with messages longer than {payload_message_bytes} bytes throughput is {cost_share} lower, "
        "{next_bit_per_s} instead of {whole_bit_per_s}"),
    rule="search_more:byte_more", rank=67,
    advice=_("keep messages within one frame, or make them so long that they fill many frames"))
note("queue-on-path", _("round trips grew from {least_rtt_us} to {half_rtt_us} (median) and "
        "{most_rtt_us} (95th percentile), and {beside}: whose data waited is not known"),
    _("up to {queue_bytes} of its own data waited in a queue on the path: round trips grew from "
        "{least_rtt_us} to {half_rtt_us} (median) and {most_rtt_us} (95th percentile)"),
    rule="tcp_series:queues", rank=78, leads=False,
    figures=("queue_bytes", "least_rtt_us", "half_rtt_us", "most_rtt_us"),
    advice=_("other traffic on the path waits for the same time (a test of latency under load "
        "shows it): use a shorter queue, or one with CoDel"))
note("loss-recovery", _("after losses TCP took up to {longest_us} to return to 95 % of its usual "
        "rate: {recovering_share} of the window in all, {resent_segments} sent again"),
    rule="tcp_series:recoveries", rank=79, leads=False,
    figures=("longest_us", "recovering_share", "retransmissions", "recoveries"),
    advice=_("recovery takes longer over a longer round trip: check the path for errors or a "
        "short queue, or try another congestion control"))
warning("other-traffic", _("it uses {other_bit_per_s} of the link at {at_host} ({way}); together "
        "with this stream it fills {link_filled_share} of the link"),
    _("it uses {other_bit_per_s} of the link; together with this stream it fills "
        "{link_filled_share} of the link"),
    limit=_("other traffic on the link"), figures=("other_bit_per_s", "link_filled_share"),
    advice=_("stop the other traffic on that interface, or measure on a dedicated link"))
note("other-traffic-beside", _("{in_trials} other traffic used {other_bit_per_s} of the link "
        "({way}); the link had room left"),
    _("other traffic used {other_bit_per_s} of the link ({way}); the link had room left"),
    rule="stream_rules:partial_traffic", rank=72, leads=False,
    advice=_("the link was not full: the other traffic did not limit the streams, but may have "
        "delayed them"))
note("queue-under-load", rule="tcp_series:under_load",
    values={
        "not-full": value(
            _("the load was {throughput_bit_per_s}, only {load_share} of what the path carries, "
                "but something else delays round trips: they took {unloaded_rtt_ns} without the "
                "load, and at least {shortest_rtt_ns}"),
            _("the load was {throughput_bit_per_s}, only {load_share} of what the path carries: "
                "the increase of the round trips does not describe a full path"),
            severity="warning", rank=20, advice=_("stop other traffic; raise the rate, use more "
                "streams, or load for longer if TCP has not reached the rate yet")),
        "standing": value(
            _("the median round trip was {loaded_rtt_ns} under load, but something else delays it, "
                "too: {unloaded_rtt_ns} without the load, at least {shortest_rtt_ns}"),
            _("under load the median round trip grew from {idle_rtt_ns} to {loaded_rtt_ns} (99th "
                "percentile {loaded_p99_ns}): about {queue_bytes} of payload wait on the path"),
            _("under load the median round trip grew from {idle_rtt_ns} to {loaded_rtt_ns}"),
            rank=30, advice=_("other traffic on the path waits for the same time: use a shorter "
                "queue, one with CoDel, or a congestion control that does not fill the queue")),
        "none": value(
            _("the load adds no significant queue, but something else delays round trips: they "
                "took {unloaded_rtt_ns} without the load, and at least {shortest_rtt_ns}"),
            _("the load fills the path and adds no significant queue: the median round trip is "
                "{loaded_rtt_ns} under load, {idle_rtt_ns} before the load"), rank=31,
            advice=_("this load needs no shorter queue; if round trips are longer than the "
                "distance explains, look for other traffic"))})
note("requests-lost-under-load",
    _("{lost_requests} of {requests} requests were lost under load ({lost_requests_share}), and "
        "{idle_lost_requests} of {idle_requests} before the load"), rank=32,
    advice=_("a full tail-drop queue drops packets of every flow; a queue that serves flows fairly "
        "(fq_codel) does not"))
