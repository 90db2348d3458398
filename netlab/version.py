"""The one place where netlab's version stands."""

VERSION = "0.1.0"
