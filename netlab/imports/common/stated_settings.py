"""Settings of a tool's tests that its output does not state, given by the option ``--setting``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from netlab.errors import UsageError
from netlab.experiment.kinds import SETUPS
from netlab.experiment.records import Value
from netlab.imports import CommandOption
from netlab.imports.common.mapped_values import columns_of_test, constant_value
from netlab.imports.common.tool_result import ToolResult

_KNOWN = frozenset(name for kind in SETUPS.values() for name in kind.names()) - {"protocol"}
"""All settings except the protocol: the meaning of a tool's figures depends on the protocol."""


def stated_settings(words: tuple[str, ...]) -> dict[str, str]:
    """Setting → its text, from words SETTING=VALUE. Raises ValueError with a user message."""
    texts: dict[str, str] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not text:
            raise ValueError(f"{word!r} is not SETTING=VALUE, such as message_bytes=1472")
        if name == "protocol":
            raise ValueError(
                "the protocol cannot be given here: netlab reads it from the tool's output"
            )
        if name not in _KNOWN:
            from netlab.config.document import did_you_mean  # imports pydantic, which is slow

            raise ValueError(f"no setting is called {name}{did_you_mean(name, _KNOWN)}")
        if texts.setdefault(name, text) != text:
            raise ValueError(f"{name} has two values")
    return texts


SETTINGS = CommandOption(
    "settings",
    "--setting",
    "A setting of all tests that the output does not state, such as message_bytes=1472 (may be "
    "repeated).",
    metavar="SETTING=VALUE",
    repeated=True,
    convert=stated_settings,
)
"""The option of every importer of a tool's output."""


def with_settings(results: Iterable[ToolResult], texts: Mapping[str, str]) -> list[ToolResult]:
    """The results; each gets those settings of ``texts`` that its kind of test has.

    Raises UsageError if an output states another value, if a value is wrong, or if a
    setting belongs to none of the tests.
    """
    completed = []
    used_names: set[str] = set()
    for result in results:
        known_columns = columns_of_test(result.test)
        added: dict[str, Value] = {}
        for name, text in texts.items():
            known_column = known_columns.get(name)
            if known_column is None or not known_column.is_setting:
                continue
            used_names.add(name)
            try:
                value = constant_value(result.test, name, text)
            except ValueError as error:
                raise UsageError(f"--setting {name}: {error}") from None
            printed = result.settings.get(name, value)
            if printed != value:
                file = Path(result.file).name
                raise UsageError(f"{file} states {name} {printed}; --setting states {text}")
            if value is not None:
                added[name] = value
        completed.append(replace(result, settings={**result.settings, **added}))
    for name in sorted(texts.keys() - used_names) if completed else ():
        raise UsageError(f"--setting {name}: no test of the output has this setting")
    return completed
