"""The tests of RFC 2544: trials at a share of the line rate, and the searches made of them."""
