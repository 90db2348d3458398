"""Real agents find the payload of cables, routers, black holes and the loopback."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
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
from netlab.measurement.ends import Ends
from netlab.trial.record import Record

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


class TestOddPaths:
    """Ends with different MTUs, and paths with a narrow link or a router."""

    pytestmark: ClassVar = needs_namespaces

    def test_a_payload_search_finds_messages_dropped_by_the_end_with_the_shorter_mtu(self) -> None:
        with hosts_on(Path(client_mtu_bytes=9000, server_mtu_bytes=1500)) as ends:
            record = search(ends, protocol="UDP")
            # A veth lets 4 bytes more pass than its MTU: room for a VLAN tag.
            assert found(record) == (1476, 1504, "dropped")
            assert found(record, "to_client_") == (1472, 1500, "emsgsize")

    def test_a_tcp_payload_search_finds_the_shorter_mtu_of_two_ends(self) -> None:
        with hosts_on(Path(client_mtu_bytes=9000, server_mtu_bytes=1500)) as ends:
            record = search(ends, protocol="TCP")
            assert found(record) == found(record, "to_client_") == (1448, 1500, "mss")

    @pytest.mark.parametrize(("version", "headers"), [(4, 28), (6, 48)])
    def test_a_udp_payload_search_finds_the_mtu_of_a_router_by_its_report(
        self, version: int, headers: int
    ) -> None:
        path = Path(client_mtu_bytes=9000, server_mtu_bytes=1400, router=True)
        with hosts_on(path) as ends:
            record = search(ends, protocol="UDP", ip_version=version)
            assert found(record) == (1400 - headers, 1400, "icmp")
            assert found(record, "to_client_") == (1400 - headers, 1400, "emsgsize")

    @needs_nft
    @pytest.mark.parametrize(("version", "headers"), [(4, 28), (6, 48)])
    def test_a_udp_payload_search_finds_the_mtu_of_a_black_hole(
        self, version: int, headers: int
    ) -> None:
        path = Path(client_mtu_bytes=1500, server_mtu_bytes=1400, router=True, silent=True)
        with hosts_on(path) as ends:
            record = search(ends, protocol="UDP", ip_version=version)
            assert found(record) == (1400 - headers, 1400, "timeout")

    @pytest.mark.parametrize(("version", "headers"), [(4, 52), (6, 72)])
    def test_a_tcp_payload_search_finds_the_mtu_of_a_router_by_its_report(
        self, version: int, headers: int
    ) -> None:
        with hosts_on(Path(router=True, narrow_mtu_bytes=1400)) as ends:
            record = search(ends, protocol="TCP", ip_version=version)
            assert found(record) == (1400 - headers, 1400, "icmp")
            assert record.values["mss_bytes"] == 1500 - headers

    @needs_nft
    @pytest.mark.night  # each lost segment takes a second; agents play it in test_payload_search.py
    def test_a_tcp_payload_search_finds_the_mtu_of_a_black_hole(self) -> None:
        with hosts_on(Path(router=True, narrow_mtu_bytes=1400, silent=True)) as ends:
            record = search(ends, protocol="TCP")
            assert found(record) == (1348, 1400, "timeout")
            assert record.values["mss_bytes"] == 1448

    @needs_tcpdump
    @pytest.mark.parametrize("version", [4, 6])
    def test_the_capture_has_one_frame_for_the_payload_and_two_frames_for_one_byte_more(
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
    def test_a_captured_tcp_segment_of_the_payload_fills_one_frame(self) -> None:
        with hosts_on(Path()) as ends:
            record = search(ends, protocol="TCP", capture=True)
        assert frames_of(record, "captured_")[1514] == 1

    def test_a_payload_search_succeeds_if_a_host_refuses_the_capture(
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
    def test_the_capture_of_the_payload_is_stored_if_fragments_do_not_pass(self) -> None:
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
def test_a_payload_search_finds_the_payload_of_the_loopback(
    loopback: Ends, settings: dict[str, Any], payload: int, mtu: int, evidence: str
) -> None:
    record = search(loopback, **settings)
    assert found(record) == (payload, mtu, evidence)
    assert found(record, "to_client_") == (payload, mtu, evidence)
    assert record.values["same_host"] is True


@pytest.fixture(scope="module", params=[1280, 1400, 1500, 9000])
def cable(request: pytest.FixtureRequest) -> Iterator[tuple[int, Ends]]:
    """One cable, and its MTU, which is the same at both ends. It stays until the last test here."""
    with hosts_on(Path(request.param, request.param)) as ends:
        yield request.param, ends


@needs_namespaces[0]
@pytest.mark.parametrize(("version", "headers"), [(4, 28), (6, 48)])
def test_a_udp_payload_search_finds_the_mtu_of_a_cable_by_a_refusal(
    cable: tuple[int, Ends], version: int, headers: int
) -> None:
    mtu, ends = cable
    record = search(ends, protocol="UDP", ip_version=version)
    assert found(record) == (mtu - headers, mtu, "emsgsize")
    assert found(record, "to_client_") == (mtu - headers, mtu, "emsgsize")
    assert record.values["probed_passed"] == [1, 1, 0]


@needs_namespaces[0]
@pytest.mark.parametrize(("version", "headers"), [(4, 52), (6, 72)])
def test_a_tcp_payload_search_finds_the_mtu_of_a_cable_by_the_mss(
    cable: tuple[int, Ends], version: int, headers: int
) -> None:
    mtu, ends = cable
    record = search(ends, protocol="TCP", ip_version=version)
    assert found(record) == (mtu - headers, mtu, "mss")
    assert found(record, "to_client_") == (mtu - headers, mtu, "mss")
