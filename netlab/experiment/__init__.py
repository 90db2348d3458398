"""What is to be measured, as plain data: matrix, cells, kinds of test, schedule, records.

No I/O, except ``records.utc_now``, which reads the clock.
"""
