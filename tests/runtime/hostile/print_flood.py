"""Prints without end."""

import os

line = b"flood " * 10_000
while True:
    os.write(1, line)
