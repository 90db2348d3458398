"""Agents on hosts: transport, SSH, login, host keys, deployment, locks."""
