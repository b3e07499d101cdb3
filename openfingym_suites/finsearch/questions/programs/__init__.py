"""Programs that compute the answer to a question from what was known when it is asked.

Each is a function ``program(w, p)`` of the world ``w``, which is a
:class:`~openfingym_suites.finsearch.questions.sources.Sources` as of the question's time, and of parameters ``p``. It
returns the values of the answer as a tuple, or for a table a list of tuples. Numbers and days as ISO dates are all
that goes in and out, so that anybody can read a program and run it again: ``openfingym questions show --with-program``
prints it as it stands here.

Parameters that several programs have: ``rank`` (0 for the first, 1 for the runner-up), ``back`` (periods before the
latest), ``scale`` (what one of the unit that is asked for is in the unit of the figures), ``which`` (the direction or
the statistic that is asked for).
"""
