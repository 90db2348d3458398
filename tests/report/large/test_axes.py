"""The cells of a large run are thinned evenly on their axes."""

from __future__ import annotations

from draws import chance, drawn

from netlab.report.large import CLIENT, PAIRING, SERVER, axes_of, thinned, values_of
from netlab.store.plan import PlannedCell


def cells_of(
    pairings: list[str], sizes: list[int], buffers: list[int | None]
) -> tuple[PlannedCell, ...]:
    return tuple(
        PlannedCell(
            key=f"{pairing}-{size}-{buffer}",
            pairing=pairing,
            test="stream",
            settings={
                "message_bytes": size,
                **({} if buffer is None else {"socket_buffer_bytes": buffer}),
            },
        )
        for pairing in pairings
        for size in sizes
        for buffer in buffers
    )


def mesh_of(hosts: int) -> list[str]:
    names = [f"h{number}" for number in range(hosts)]
    return [f"{server}+{client}" for server in names for client in names if server != client]


def test_axis_levels_are_sorted_and_an_absent_setting_is_a_level() -> None:
    cells = cells_of(["LL", "WL"], [1472, 64, 256], [65536, None, 4096])
    levels = {axis.name: axis.levels for axis in axes_of(cells)}
    assert levels == {
        "message_bytes": (64, 256, 1472),
        "socket_buffer_bytes": (None, 4096, 65536),
        PAIRING: ("LL", "WL"),
    }
    assert axes_of(cells[:1]) == ()
    assert {axis.name for axis in axes_of(cells_of(mesh_of(3), [64], [None]))} == {SERVER, CLIENT}


def test_groups_of_levels_contain_every_level_once_in_order() -> None:
    (axis,) = axes_of(cells_of(["LL"], [*range(64, 64 + 103)], [None]))
    for most in (1, 2, 25, 40, 102, 103, 500):
        groups = axis.groups(most)
        assert len(groups) == min(most, 103)
        assert [level for levels in groups for level in levels] == [*axis.levels]
        lengths = {len(levels) for levels in groups}
        assert max(lengths) - min(lengths) <= 1


def test_thinning_leaves_at_most_the_requested_number_of_cells_in_plan_order() -> None:
    draw = chance(3)
    for _ in range(drawn(20, 200)):
        hosts = draw.randrange(2, 12)
        pairings = draw.choice([["LL"], ["LL", "WL", "LW"], mesh_of(hosts)])
        sizes = [*range(64, 64 + draw.randrange(1, 30))]
        cells = cells_of(pairings, sizes, [None, 4096, 65536][: draw.randrange(1, 4)])
        most = draw.randrange(1, 200)
        left = thinned(cells, most)
        assert 0 < len(left) <= most
        assert len(left) * 8 > min(most, len(cells))  # at most three axes, halved one by one
        keys = {cell.key for cell in left}
        assert [cell for cell in cells if cell.key in keys] == [*left]


def test_a_thinned_mesh_measures_its_remaining_hosts_in_both_directions() -> None:
    left = {cell.pairing for cell in thinned(cells_of(mesh_of(40), [64], [None]), 100)}
    assert len(left) == 90
    assert {"+".join(reversed(pairing.split("+"))) for pairing in left} == left


def test_thinning_disjoint_pairs_leaves_some_pairs() -> None:
    pairings = [f"s{number}+c{number}" for number in range(33)]
    left = thinned(cells_of(pairings, [64], [None]), 10)
    assert 0 < len(left) <= 10


def test_the_axis_values_of_a_cell_include_its_server_and_client() -> None:
    (cell,) = cells_of(["nas+laptop"], [64], [None])
    assert values_of(cell) == {"message_bytes": 64, SERVER: "nas", CLIENT: "laptop"}
