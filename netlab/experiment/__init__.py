"""What is to be measured, as plain data: matrix, cells, schedule."""
