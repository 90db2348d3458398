"""The pydantic model of a matrix's ``mirrors``: other programs that answer round trips."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from netlab.config.commands.command import CommandWords
from netlab.config.document import Section
from netlab.experiment.kinds.groups import WORD


def _address(value: str) -> str:
    address = ipaddress.ip_address(value.partition("%")[0])
    if address.is_unspecified or address.is_multicast:
        raise ValueError(f"{value} is not the address of one host")
    return value


class MirrorSection(Section):
    """A program or an echo that answers round trips in place of netlab's probe on the server."""

    start: CommandWords = Field(
        default=(),
        description="The command that starts it on the server; without it, it runs already. "
        "{address} and {port} stand for where it must answer.",
    )
    address: Annotated[str, AfterValidator(_address)] = Field(
        default=None,  # type: ignore[assignment]  # absent, never null
        description="The IP address at which it answers; default: the server's test address.",
    )
    port: int = Field(
        default=None,  # type: ignore[assignment]
        ge=1,
        le=65535,
        description="The port at which it answers; default: a free port of the server.",
    )
    interface: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:@-]{1,15}$")] = Field(
        default=None,  # type: ignore[assignment]
        description="The server's interface at which its stack is timed; default: that of the "
        "route to the client.",
    )

    @model_validator(mode="after")
    def _has_a_port(self) -> MirrorSection:
        if self.port is None and not self.start:
            raise ValueError("give the mirror's `port`, or the command to `start` the mirror")
        if self.port is None and not any("{port}" in word for word in self.start):
            raise ValueError(
                "give the mirror's `port`, or write {port} in `start`: "
                "netlab then chooses a free port"
            )
        return self


def _no_probe(name: str) -> str:
    if name == "netprobe":
        raise ValueError("`netprobe` is netlab's own probe: give this mirror another name")
    return name


MirrorName = Annotated[
    str, AfterValidator(_no_probe), Field(pattern=WORD.pattern, max_length=WORD.most_characters)
]
"""A name that the setting ``mirror`` can have; ``netprobe`` is netlab's own probe."""
