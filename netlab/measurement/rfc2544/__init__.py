"""The tests of RFC 2544: trials at a share of the line rate, and searches made of such trials."""
