"""One room a kind of test: Trial → requests to two probes → Record."""
