"""What tests of the page share: one browser, and an end to the pages that a test opened."""

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
    """Close the pages that one test opened; those of a module stay open until its end."""
    if "browser" not in request.fixturenames:
        yield
        return
    chromium: Browser = request.getfixturevalue("browser")
    before = [*chromium.tabs]
    yield
    for tab in [*chromium.tabs]:
        if tab not in before:
            tab.close()
