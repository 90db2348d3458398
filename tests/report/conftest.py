"""What tests of the page share: one browser, which opens each page once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from browser import Browser, a_browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, for all tests of this process."""
    with a_browser() as chromium:
        yield chromium


@pytest.fixture(autouse=True)
def closed_tabs(request: pytest.FixtureRequest) -> Iterator[None]:
    """The pages that a test opened are closed after it, but for those that its module shares."""
    yield
    if "browser" in request.fixturenames:
        request.getfixturevalue("browser").close_tabs()
