"""Variants on the hosts: changes are made, checked, and undone by the agents."""
