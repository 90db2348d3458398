"""Which streams are compared in a mesh, and which host of a stream sends."""

from __future__ import annotations

from made_meshes import HOSTS, MadeMesh
from made_samples import IDLE, changed, tcp

from netlab.findings.finding import Conditions
from netlab.findings.mesh import MeshKey, _key, columns_of, ends_of

A, B, C = THREE = HOSTS[:3]


def test_streams_without_a_host_within_one_host_or_paced_are_in_no_column() -> None:
    samples = MadeMesh(THREE, scatter=0, letters=True).samples()
    first = samples[0]
    left_out = [
        changed(first, sender=changed(IDLE, host="")),
        changed(first, receiver=changed(IDLE, host="")),
        changed(first, receiver=first.sender),
        changed(first, same_host=True),
        changed(first, offered_bit_per_s=1e7),
        changed(first, imported=True),
    ]
    (column,) = columns_of([*left_out, *samples])
    (expected,) = columns_of(samples)
    assert column.trials == expected.trials
    assert sum(map(len, column.trials.values())) == 18


def test_streams_are_in_one_column_if_they_differ_in_hosts_and_direction_only() -> None:
    def key(conditions: Conditions, flow: str = "") -> MeshKey:
        return _key(tcp(message_bytes=1448, conditions=conditions, flow=flow))

    expected = ("TCP", 1448, False, (("a", 1), ("b", 2)))
    assert key((("a", 1), ("b", 2), ("direction", "client-sends"))) == expected
    assert key((("a", 1), ("b", 2), ("direction", "server-sends"))) == expected
    assert key((), "to server") == ("TCP", 1448, True, ())


def test_the_server_sends_to_the_client_in_that_direction_and_if_the_settings_say_so() -> None:
    both, back = (("direction", "both"),), (("direction", "server-sends"),)
    sample = tcp(pairing=f"{A}+{B}", flow="to client", conditions=both)
    assert ends_of(sample) == (A, B)
    assert ends_of(changed(sample, flow="to server")) == (B, A)
    assert ends_of(changed(sample, flow="", conditions=back)) == (A, B)
