"""Suites of questions that agents answer with tools, each in a folder of its own.

A suite (:class:`~openfingym.suites.suite.Suite`) says which questions there are, what may be looked up, and how an
answer is read; it knows nothing of tasks and verifiers. :mod:`openfingym.kinds.qa` makes tasks of it.
"""
