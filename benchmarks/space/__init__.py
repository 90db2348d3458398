"""A space of causes: where, what, which packets, when and how much, planted and looked for."""
