"""The switch interval of Python's threads, by the number of hosts."""

from __future__ import annotations

import sys

import pytest

from netlab.runner.ending import switching_seldom


@pytest.mark.parametrize(("hosts", "longer"), [(2, 1), (50, 1), (100, 2), (1000, 20)])
def test_the_switch_interval_of_threads_grows_with_the_number_of_hosts(
    hosts: int, longer: int
) -> None:
    own_s = 0.005
    earlier_s = sys.getswitchinterval()
    sys.setswitchinterval(own_s)
    try:
        with pytest.raises(KeyError), switching_seldom(hosts):
            assert sys.getswitchinterval() == pytest.approx(longer * own_s)
            raise KeyError
        assert sys.getswitchinterval() == pytest.approx(own_s)
    finally:
        sys.setswitchinterval(earlier_s)
