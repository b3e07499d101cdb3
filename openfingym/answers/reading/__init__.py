"""What an answer in words says: its final part, the numbers and dates in it, the rows of a table."""
