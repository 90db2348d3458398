"""The kinds of findings: a row each, with severity, sentence, advice and rank. Pure."""
