"""Tasks with their labels, and scores of arrays: in this process or in workers."""
