"""netlab's version, defined only here."""

VERSION = "0.1.0"
