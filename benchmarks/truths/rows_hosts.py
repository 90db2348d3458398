"""Causes in the hosts: in their CPUs, their buffers, their probes."""

from __future__ import annotations

from benchmarks.truths import tools
from benchmarks.truths.causes import Cause, Dial, Effect, Experiment, only, share, times
from benchmarks.truths.plants.hosts import (
    another_congestion_control,
    busy,
    competing,
    quota,
    setting,
    stolen,
)
from benchmarks.truths.plants.trials import stopped, unplugged
from benchmarks.truths.site import RECEIVER, RECEIVER_CPU, SENDER, SENDER_CPU

PINNED = f"client_cpu: {SENDER_CPU}, server_cpu: {RECEIVER_CPU}"
BUFFERS = f"socket_buffer: 64KiB, {PINNED}"
"""These buffers hold 4 ms of data at 100 Mbit/s. A longer wait for a CPU reduces the rate."""
TCP = f"  - {{test: stream, protocol: TCP, message_size: 1448, congestion: cubic, {BUFFERS}}}"
UDP = f"  - {{test: stream, protocol: UDP, message_size: 1472, {BUFFERS}}}"
SMALL = f"  - {{test: stream, protocol: TCP, message_size: 64, congestion: cubic, {PINNED}}}"
PLAIN_TCP = "  - {test: stream, protocol: TCP, message_size: 1448, congestion: cubic}"

SMALL_BUFFERS = Experiment(lab="cable", tests=(f"{TCP}\n{UDP}", TCP, UDP))
TCP_OR_BOTH = Experiment(lab="cable", tests=(f"{TCP}\n{UDP}", TCP))
UNSHAPED = Experiment(
    lab="fast",
    tests=(SMALL,),
    rate_bit_per_s=10e9,
    anyway=frozenset(
        {"cpu-bound/sender", "sender-call-rate", "saturated-core", "cpu-bound/receiver"}
    ),
)
OVER_DELAY = Experiment(
    lab="delay", tests=(PLAIN_TCP,), rate_bit_per_s=20e6, seconds=1.5, warm_up_s=1.5
)
BOTH_WAYS = Experiment(
    lab="cable",
    tests=("  - {test: stream, protocol: TCP, message_size: 1448}",),
    pairings="[linux-a+linux-b, linux-b+linux-a]",
)
STOP_AFTER_S = 0.7
STOPPABLE = Experiment(lab="cable", tests=(TCP, UDP), seconds=1.6, warm_up_s=0.3, repeats=2)
STOPS: Dial = {"just": (0.27, 0.33), "plain": (0.38, 0.46), "gross": (0.6, 0.7)}
"""Seconds of a window of 1.6 s: about 19, 26 and 41 % of it. netlab reports gaps of 250 ms
there."""

BY_IPERF = Effect(measure=tools.tcp_small_buffers, tool="iperf3, TCP, buffers of 64 KB")
WAITS = frozenset({"other-load", "host-delay/process", "host-delay/hypervisor"})
"""Further findings that are true of a host whose test waits for a CPU in each tenth of a second."""
LOST_HERE = frozenset({"loss-limit/socket", "loss/socket", "loss-limit/host"})

ROWS = (
    Cause(
        name="sender-quota",
        what="a CPU quota on the sender, which another program of its group uses up",
        experiment=SMALL_BUFFERS,
        plant=quota(SENDER, SENDER_CPU),
        expected=("cpu-wait/sender-quota",),
        also=WAITS,
        effect=BY_IPERF,
        alone=True,
        mixes="pair",
        takes=share(),
    ),
    Cause(
        name="receiver-quota",
        what="a CPU quota on the receiver, which another program of its group uses up",
        experiment=SMALL_BUFFERS,
        plant=quota(RECEIVER, RECEIVER_CPU),
        expected=("cpu-wait/receiver-quota",),
        also=WAITS | LOST_HERE,
        effect=BY_IPERF,
        alone=True,
        mixes="pair",
        takes=share(),
    ),
    Cause(
        name="sender-neighbour",
        what="a busy neighbour on the sender's core, which goes first",
        experiment=SMALL_BUFFERS,
        plant=busy(str(SENDER_CPU)),
        expected=("cpu-wait/sender-programs",),
        also=WAITS,
        effect=BY_IPERF,
        alone=True,
        mixes="pair",
        takes=share(),
    ),
    Cause(
        name="receiver-neighbour",
        what="a busy neighbour on the receiver's core, which goes first",
        experiment=SMALL_BUFFERS,
        plant=busy(str(RECEIVER_CPU)),
        expected=("cpu-wait/receiver-programs",),
        also=WAITS | LOST_HERE,
        effect=BY_IPERF,
        alone=True,
        mixes="pair",
        takes=share(),
    ),
    Cause(
        name="stolen",
        what="CPUs that others take, as the hosts' /proc/stat says",
        experiment=SMALL_BUFFERS,
        plant=stolen,
        plays_steal=True,
        expected=("cpu-wait/steal", "host-delay/hypervisor"),
        also=WAITS | LOST_HERE | {"cpu-wait/sender-programs", "cpu-wait/receiver-programs"},
        effect=BY_IPERF,
        alone=True,
        takes=share(),
    ),
    Cause(
        name="competitor",
        what="a spinning competitor on the sender's core, by its nice level",
        experiment=UNSHAPED,
        plant=competing(SENDER_CPU),
        expected=("cpu-wait/sender-programs", "other-load"),
        also=WAITS,
        effect=Effect(measure=tools.tcp_small_messages, tool="iperf3, TCP, messages of 64 bytes"),
        alone=True,
        takes=share(),
    ),
    Cause(
        name="full-socket",
        what="a receiver's socket too short for the pauses of its program, over UDP",
        experiment=Experiment(lab="cable", tests=(UDP,)),
        plant=busy(str(RECEIVER_CPU)),
        expected=("loss-limit/socket", "loss/socket", "cpu-wait/receiver-programs"),
        also=WAITS | LOST_HERE,
        denied=frozenset({"loss-limit/path", "loss/path"}),
        effect=Effect(measure=tools.udp_small_buffers, tool="iperf3, UDP, buffers of 64 KB"),
        alone=True,
        takes=share(),
    ),
    Cause(
        name="send-buffer",
        what="a send buffer too small for a path of 20 ms",
        experiment=OVER_DELAY,
        plant=setting(SENDER, "net.ipv4.tcp_wmem=4096 {0} {0}"),
        expected=("buffer-limit/sender",),
        effect=Effect(measure=tools.tcp_over_delay, tool="iperf3, TCP"),
        search=(8e3, 400e3),
        takes=share(),
    ),
    Cause(
        name="receive-buffer",
        what="a receive buffer too small for a path of 20 ms",
        experiment=OVER_DELAY,
        plant=setting(RECEIVER, "net.ipv4.tcp_rmem=4096 {0} {0}"),
        expected=("buffer-limit/receiver",),
        effect=Effect(measure=tools.tcp_over_delay, tool="iperf3, TCP"),
        search=(8e3, 400e3),
        takes=share(),
    ),
    Cause(
        name="congestion-controls",
        what="cubic against bbr, which the matrix does not set",
        experiment=BOTH_WAYS,
        plant=another_congestion_control,
        dial=only(times(0.05), "gross"),
        expected=("congestion-differs",),
    ),
    Cause(
        name="data-stopped",
        what="nothing comes through for a part of a second",
        experiment=STOPPABLE,
        plant=unplugged(STOP_AFTER_S),
        dial=STOPS,
        expected=("interruption/final",),
        also=frozenset({"host-delay/process", "loss/unknown"}),
        denied=frozenset({"loss-limit/path", "loss/path"}),  # the interface counted them
        takes=share(1 / STOPPABLE.seconds),
    ),
    Cause(
        name="receiver-stopped",
        what="the receiver's probe stands still for a part of a second",
        experiment=STOPPABLE,
        plant=stopped(RECEIVER, STOP_AFTER_S),
        dial=STOPS,
        expected=("interruption/final", "host-delay/process"),
        also=LOST_HERE | {"interruption/earlier"},
        denied=frozenset({"loss-limit/path", "loss/path"}),
        takes=share(1 / STOPPABLE.seconds),
    ),
    Cause(
        name="sender-stopped",
        what="the sender's probe stands still for a part of a second",
        experiment=STOPPABLE,
        plant=stopped(SENDER, STOP_AFTER_S),
        dial=STOPS,
        expected=("interruption/final", "host-delay/process"),
        also=frozenset({"interruption/earlier"}),
        takes=share(1 / STOPPABLE.seconds),
    ),
)
