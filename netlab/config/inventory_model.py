"""The pydantic model of an inventory."""

from __future__ import annotations

import ipaddress
import re
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from netlab.config.document import Section
from netlab.experiment.hosts import OS_NAMES, SERVED_PORTS, parse_ssh

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}", re.ASCII)


def _letter(value: Any) -> Any:
    # The letter of a system's name, such as L for Linux.
    names = {name.lower(): letter for letter, name in OS_NAMES.items() if letter != "X"}
    return names.get(value.lower(), value) if isinstance(value, str) else value


def _ssh(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("should be text such as user@host:port")
    parse_ssh(value)
    return value


def _addresses(value: Any) -> Any:
    """Checked addresses, such as ``{test: [10.0.0.1, fd00::1]}`` or ``{test: 10.0.0.1}``."""
    if not isinstance(value, dict) or not value:
        raise ValueError("should be names of networks with addresses, such as {test: 10.0.0.1}")
    return {name: _of_one_network(name, listed) for name, listed in value.items()}


def _of_one_network(name: str, listed: Any) -> tuple[str, ...]:
    texts = listed if isinstance(listed, list) else [listed]
    versions: list[int] = []
    for text in texts:
        try:
            address = ipaddress.ip_address(str(text).partition("%")[0])
        except ValueError:
            raise ValueError(f"{name}: {text!r} is not an IP address") from None
        if address.is_unspecified or address.is_multicast:
            raise ValueError(f"{name}: {text} is not the address of one host")
        if address.version in versions:
            raise ValueError(
                f"{name}: two IPv{address.version} addresses; a host has one in each network, so "
                "give each address its own network name"
            )
        versions.append(address.version)
    return tuple(str(text) for text in texts)


def _port_range(value: Any) -> Any:
    match = re.fullmatch(r"\s*(\d{1,5})\s*(?:-\s*(\d{1,5})\s*)?", str(value), re.ASCII)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, 0)
    if not 1 <= first <= last <= 65535:
        raise ValueError(f"{value!r} is not a range of ports, such as 5001-5100")
    return first, last


def _name_of(thing: str, name: object) -> Any:
    """The name of a ``thing``; ValueError if it cannot be one."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a name of a {thing}: use letters, digits, . _ -")
    return name


def _shares(value: Any) -> Any:
    """Names of links and switches, such as ``uplink`` or ``[uplink, switch-2]``."""
    names = value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(_name_of("link or switch", name) for name in names))


def _host_key(value: Any) -> Any:
    form = r"(ssh-|ecdsa-|sk-)[a-z0-9@.-]+ [A-Za-z0-9+/]+=*( .*)?|SHA256:[A-Za-z0-9+/]{43}=?"
    if not isinstance(value, str) or not re.fullmatch(form, value):
        raise ValueError(
            "neither a public key (ssh-ed25519 AAAA…) nor a fingerprint (SHA256:…, 43 characters)"
        )
    return value


def _address(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError("should be an IP address, such as 10.0.0.9")
    return _of_one_network("address", value)[0]


class MirrorModel(Section):
    """Address and port at which a host without an agent echoes what it receives."""

    address: Annotated[str, BeforeValidator(_address)]
    port: int = Field(default=7, ge=1, le=65535)


def _servers(value: Any) -> Any:
    """Tool → address and port of its server, from ``{iperf3: 192.0.2.5:5201}``."""
    if not isinstance(value, dict) or not value:
        raise ValueError("should name a tool and its server, such as {iperf3: 192.0.2.5:5201}")
    servers = {}
    for name, place in value.items():
        if name not in SERVED_PORTS:
            raise ValueError(f"{name!r} is not one of the tools {', '.join(SERVED_PORTS)}")
        match = re.fullmatch(r"\[?([^\[\]]+?)\]?(?::([0-9]{1,5}))?", str(place))
        if match is None or ("[" not in str(place) and str(place).count(":") > 1):
            example = "192.0.2.5:5201 (IPv6: [ADDRESS])"
            raise ValueError(f"{place!r} is not ADDRESS:PORT, such as {example}")
        port = int(match[2] or SERVED_PORTS[name])
        if not 1 <= port <= 65535:
            raise ValueError(f"{port} is not a port from 1 to 65535")
        servers[name] = (_of_one_network(name, match[1])[0], port)
    return servers


class HostModel(Section):
    """One host."""

    os: Annotated[Literal["L", "W", "M", "F", "X"], BeforeValidator(_letter)] | None = None
    local: bool = False
    ssh: Annotated[str, BeforeValidator(_ssh)] | None = None
    address: str | None = None
    addresses: Annotated[dict[str, Any], BeforeValidator(_addresses)] | None = None
    machine: str | None = None
    port_range: Annotated[Any, BeforeValidator(_port_range)] | None = None
    host_key: Annotated[str, BeforeValidator(_host_key)] | None = None
    identity: str | None = None
    mirror: MirrorModel | None = None
    serves: Annotated[dict[str, Any], BeforeValidator(_servers)] = Field(default_factory=dict)
    shares: Annotated[tuple[str, ...], BeforeValidator(_shares)] = ()
    site: Annotated[str, BeforeValidator(partial(_name_of, "site"))] | None = None

    @model_validator(mode="before")
    @classmethod
    def _as_it_should_be(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        if {"address", "addresses"} <= data.keys():
            raise ValueError("give `address:` or `addresses:`, not both")
        if "password" in data:
            raise ValueError(
                "an inventory must not contain a password: use ssh-agent, or name a key file "
                "(identity:)"
            )
        rest = {key: value for key, value in data.items() if key != "address"}
        return rest | {"addresses": {"test": data["address"]}} if "address" in data else data

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        systems = "the key `os` is missing: L (Linux), W (Windows), M (macOS)"
        if self.mirror is not None or self.serves:
            if self.os is None:
                raise ValueError(f"{systems}, F (FreeBSD) or X (another system)")
            idle = self.model_fields_set - {"os", "mirror", "serves", "machine", "shares"}
            if idle:
                what = "a mirror" if self.mirror is not None else "a host that only serves"
                raise ValueError(
                    f"{what} runs no agent and has no login, so `{min(idle)}` has no effect"
                )
            return self
        if self.local == (self.ssh is not None):
            raise ValueError("a host needs either `ssh: user@host` or `local: true`, not both")
        if not self.local and self.os is None:
            raise ValueError(f"{systems} or F (FreeBSD)")
        if self.os == "X":
            raise ValueError(
                "netlab has no probe for `os: X`: give this host `mirror:` or `serves:`, no login"
            )
        if not self.local and not self.addresses:
            raise ValueError(
                "the key `addresses` is missing, for example `addresses: {test: 10.0.0.1}`; "
                "`netlab init` finds them"
            )
        return self


class PairModel(Section):
    """The hosts of a pairing."""

    server: str
    client: str


def _pair(value: Any) -> Any:
    is_short = isinstance(value, list) and len(value) == 2
    return {"server": value[0], "client": value[1]} if is_short else value


def _named(value: Any) -> Any:
    for name in value if isinstance(value, dict) else ():
        _name_of("host", name)
    return value


class InventoryModel(BaseModel):
    """The `hosts:` and `pairs:` of a file; its other sections are ignored here."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    hosts: Annotated[dict[str, HostModel], BeforeValidator(_named)] = Field(min_length=1)
    pairs: dict[str, Annotated[PairModel, BeforeValidator(_pair)]] = Field(default_factory=dict)
