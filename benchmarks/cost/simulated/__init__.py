"""Simulated hosts: agents that answer as netprobe does, without a network between them."""
