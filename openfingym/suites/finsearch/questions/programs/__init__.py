"""Programs that compute the answer to a question from what was known when it is asked.

Each is a function of sources and parameters that returns the values of an answer, a tuple, or a list of tuples for a
table. They take numbers, dates as ISO texts, and nothing else, so that anybody can read one and run it again.
"""
