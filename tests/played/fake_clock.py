"""An agent whose clock is another: ``python fake_clock.py OFFSET_S SKEW_PPM COMMAND…``.

It is a proxy between the controller and a real agent. It converts times in requests from the fake
clock to the real one, and times in records back; durations are as the fake clock would show them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading

TIMES = ("monotonic_ns", "window_open_ns", "window_close_ns", "first_send_ns", "last_send_ns")
LENGTHS = ("elapsed_ns",)
RATES = ("throughput_bit_per_s", "sent_bit_per_s")
ASKED = re.compile(r"\b(start_ns|window_open_ns|window_close_ns)=(\d+)")


def main() -> int:
    """Run the agent until its input ends, or it does."""
    offset_ns, faster = round(float(sys.argv[1]) * 1e9), 1 + float(sys.argv[2]) / 1e6
    agent = subprocess.Popen(
        sys.argv[3:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    requests, records = agent.stdin, agent.stdout
    assert requests is not None
    assert records is not None

    def real(match: re.Match[str]) -> str:
        return f"{match[1]}={round((int(match[2]) - offset_ns) / faster)}"

    def forward() -> None:
        for line in sys.stdin:
            requests.write(ASKED.sub(real, line))
            requests.flush()
        requests.close()

    threading.Thread(target=forward, daemon=True).start()
    for line in records:
        record = json.loads(line)
        record |= {n: round(record[n] * faster) + offset_ns for n in TIMES if n in record}
        record |= {n: round(record[n] * faster) for n in LENGTHS if n in record}
        record |= {n: record[n] / faster for n in RATES if n in record}
        print(json.dumps(record), flush=True)
    return agent.wait()


if __name__ == "__main__":
    sys.exit(main())
