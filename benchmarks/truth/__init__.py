"""What netlab says, held against what is known to be so."""
