"""The words of `--cluster`."""

from __future__ import annotations

import pytest

from netlab.errors import UsageError
from netlab.runner.cluster.open import cluster_address


@pytest.mark.parametrize(
    "words",
    [
        "tls://scheduler.example:8786", "tls://[2001:db8::1]:8786", "tcp://127.0.0.1:8786",
        "tcp://[::1]:1", "tcp://localhost:65535", "local:1", "local:64",
    ],
)  # fmt: skip
def test_the_cluster_option_takes_a_scheduler_or_a_number_of_local_workers(words: str) -> None:
    assert cluster_address(words) == words


@pytest.mark.parametrize(
    "words",
    [
        "", "local:", "local:0", "local:65", "local:-1", "local:4x", "tls://", "tls://host",
        "tls://host:0", "tls://host:65536", "tls://a b:1", "http://host:1", "tls://host:1/x",
        "tls://user@host:1", "host:8786", "tls://host:٣",
    ],
)  # fmt: skip
def test_an_invalid_value_of_the_cluster_option_is_refused_with_the_valid_forms(words: str) -> None:
    with pytest.raises(UsageError, match="neither tls://HOST:PORT, nor local:N"):
        cluster_address(words, insecure=True)


@pytest.mark.parametrize("host", ["192.0.2.1", "scheduler.example", "[2001:db8::1]", "127.example"])
def test_a_remote_scheduler_without_tls_is_refused_unless_insecure_is_set(host: str) -> None:
    with pytest.raises(UsageError, match="can run programs on every worker"):
        cluster_address(f"tcp://{host}:8786")
    assert cluster_address(f"tcp://{host}:8786", insecure=True) == f"tcp://{host}:8786"
