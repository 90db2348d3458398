"""Payloads found between real agents: cables of every MTU, a router that tells, one that does not,
and loopback.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path as FilePath
from typing import Any, ClassVar

import pytest
from paths import (
    Path,
    found,
    hosts_on,
    inside,
    loopback,
    needs_namespaces,
    needs_nft,
    search,
)

from netlab.errors import HostError
from netlab.experiment.records import Record
from netlab.measurement.ends import Ends

__all__ = ["loopback"]

pytestmark = pytest.mark.alone

needs_tcpdump = pytest.mark.needs("tcpdump")


def frames_of(record: Record, prefix: str) -> dict[int, int]:
    """Length of captured frames → their number."""
    lengths, counts = (record.values[prefix + name] for name in ("frame_bytes", "frames"))
    assert isinstance(lengths, list)
    assert isinstance(counts, list)
    return {int(length): int(count) for length, count in zip(lengths, counts, strict=True)}


def refuse_to_start(_argv: object) -> None:
    raise HostError("server: cannot start tcpdump: No such file")


CABLES = pytest.mark.parametrize("mtu", [1280, 1400, 1500, 9000])


class TestCables:
    """One cable, the same MTU at both ends."""

    pytestmark: ClassVar = [*needs_namespaces, CABLES]

    @pytest.mark.parametrize(("version", "headers"), [(4, 28), (6, 48)])
    def test_udp_fills_the_cable_and_one_byte_more_is_refused(
        self, mtu: int, version: int, headers: int
    ) -> None:
        with hosts_on(Path(mtu, mtu)) as ends:
            record = search(ends, protocol="UDP", ip_version=version)
            assert found(record) == (mtu - headers, mtu, "emsgsize")
            assert found(record, "to_client_") == (mtu - headers, mtu, "emsgsize")
            assert record.values["probed_passed"] == [1, 1, 0]

    @pytest.mark.parametrize(("version", "headers"), [(4, 52), (6, 72)])
    def test_a_tcp_segment_fills_the_cable(self, mtu: int, version: int, headers: int) -> None:
        with hosts_on(Path(mtu, mtu)) as ends:
            record = search(ends, protocol="TCP", ip_version=version)
            assert found(record) == (mtu - headers, mtu, "mss")
            assert found(record, "to_client_") == (mtu - headers, mtu, "mss")


class TestOddPaths:
    """Ends with different MTUs, and paths with a narrow link or a router."""

    pytestmark: ClassVar = needs_namespaces

    def test_a_cable_of_two_mtus_drops_what_its_shorter_end_does_not_take(self) -> None:
        with hosts_on(Path(client_mtu_bytes=9000, server_mtu_bytes=1500)) as ends:
            record = search(ends, protocol="UDP")
            # A veth lets 4 bytes more pass than its MTU: room for a VLAN tag.
            assert found(record) == (1476, 1504, "dropped")
            assert found(record, "to_client_") == (1472, 1500, "emsgsize")

    def test_tcp_agrees_on_the_shorter_of_two_mtus(self) -> None:
        with hosts_on(Path(client_mtu_bytes=9000, server_mtu_bytes=1500)) as ends:
            record = search(ends, protocol="TCP")
            assert found(record) == found(record, "to_client_") == (1448, 1500, "mss")

    @pytest.mark.parametrize(("version", "headers"), [(4, 28), (6, 48)])
    def test_a_router_that_tells_is_believed_and_named(self, version: int, headers: int) -> None:
        path = Path(client_mtu_bytes=9000, server_mtu_bytes=1400, router=True)
        with hosts_on(path) as ends:
            record = search(ends, protocol="UDP", ip_version=version)
            assert found(record) == (1400 - headers, 1400, "icmp")
            assert found(record, "to_client_") == (1400 - headers, 1400, "emsgsize")

    @needs_nft
    @pytest.mark.parametrize(("version", "headers"), [(4, 28), (6, 48)])
    def test_a_router_that_drops_without_a_word_is_searched_through(
        self, version: int, headers: int
    ) -> None:
        path = Path(client_mtu_bytes=1500, server_mtu_bytes=1400, router=True, silent=True)
        with hosts_on(path) as ends:
            record = search(ends, protocol="UDP", ip_version=version)
            assert found(record) == (1400 - headers, 1400, "timeout")

    @pytest.mark.parametrize(("version", "headers"), [(4, 52), (6, 72)])
    def test_tcp_segments_that_a_router_had_cut_are_not_taken_for_the_payload(
        self, version: int, headers: int
    ) -> None:
        with hosts_on(Path(router=True, narrow_mtu_bytes=1400)) as ends:
            record = search(ends, protocol="TCP", ip_version=version)
            assert found(record) == (1400 - headers, 1400, "icmp")
            assert record.values["mss_bytes"] == 1500 - headers

    @needs_nft
    @pytest.mark.slow
    def test_tcp_segments_that_vanish_are_searched_through(self) -> None:
        with hosts_on(Path(router=True, narrow_mtu_bytes=1400, silent=True)) as ends:
            record = search(ends, protocol="TCP")
            assert found(record) == (1348, 1400, "timeout")
            assert record.values["mss_bytes"] == 1448

    @needs_tcpdump
    @pytest.mark.parametrize("version", [4, 6])
    def test_captured_frames_prove_it_one_for_the_payload_and_two_for_a_byte_more(
        self, version: int, tmp_path: FilePath
    ) -> None:
        with hosts_on(Path()) as ends:
            capture_ends = dataclasses.replace(ends, captures=tmp_path / "captures")
            record = search(capture_ends, protocol="UDP", ip_version=version, capture=True)
        values = record.values
        assert values["captured"] is True, values["capture_reason"]
        assert frames_of(record, "captured_")[1514] == 3
        next_frames = frames_of(record, "captured_next_")
        fragments = {
            length: count for length, count in next_frames.items() if length not in (90, 110)
        }
        assert sum(fragments.values()) == 6
        assert max(fragments) <= 1514
        assert len(list((tmp_path / "captures").glob("*.pcap"))) == 2

    @needs_tcpdump
    def test_a_captured_tcp_segment_fills_one_frame(self) -> None:
        with hosts_on(Path()) as ends:
            record = search(ends, protocol="TCP", capture=True)
        assert frames_of(record, "captured_")[1514] == 1

    def test_a_host_that_may_not_capture_says_why_and_is_searched_all_the_same(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with hosts_on(Path()) as ends:
            monkeypatch.setattr(ends.agent_of_server, "start_beside", refuse_to_start)
            record = search(ends, protocol="UDP", capture=True)
        assert found(record) == (1472, 1500, "emsgsize")
        assert record.values["captured"] is False
        assert record.values["capture_reason"] == "server: cannot start tcpdump: No such file"

    @needs_tcpdump
    @needs_nft
    def test_where_fragments_do_not_pass_the_capture_of_the_payload_is_kept(self) -> None:
        with hosts_on(Path()) as ends:
            namespace = f"netlab-test-{os.getpid()}-server"
            inside(namespace, "nft", "add", "table", "ip", "test")
            chain = "{ type filter hook prerouting priority -450; }"
            inside(namespace, "nft", "add", "chain", "ip", "test", "in", chain)
            fragments = ("ip", "frag-off", "&", "0x1fff", "!=", "0", "drop")
            inside(namespace, "nft", "add", "rule", "ip", "test", "in", *fragments)
            record = search(ends, protocol="UDP", capture=True)
        assert found(record) == (1472, 1500, "emsgsize")
        assert record.values["captured"] is True
        assert frames_of(record, "captured_")[1514] == 3
        assert "captured_next_frames" not in record.values
        assert "no-answer" in str(record.values["capture_reason"])


@pytest.mark.parametrize(
    ("settings", "payload", "mtu", "evidence"),
    [
        ({"protocol": "UDP"}, 65507, 65535, "protocol"),
        ({"protocol": "UDP", "ip_version": 6}, 65488, 65536, "emsgsize"),
        ({"protocol": "TCP"}, 65483, 65535, "mss"),
    ],
)
def test_loopback_carries_the_longest_message_of_all(
    loopback: Ends, settings: dict[str, Any], payload: int, mtu: int, evidence: str
) -> None:
    record = search(loopback, **settings)
    assert found(record) == (payload, mtu, evidence)
    assert found(record, "to_client_") == (payload, mtu, evidence)
    assert record.values["same_host"] is True
