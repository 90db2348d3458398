"""Texts of the report: sentences about findings, and phrases with figures."""
