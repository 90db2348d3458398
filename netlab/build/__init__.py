"""The probe's binary: for this machine, for others, for a release."""
