"""The table of the kinds of findings: each row has a severity, sentences, advice and a rank."""
