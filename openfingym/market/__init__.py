"""Live markets: feeds, the buffer that agents read, recorded sessions, and local venues for development and tests.

Data flows one way. A :mod:`~openfingym.market.transport` carries frames; a feed's session turns them into the
:mod:`~openfingym.market.ticks` of its venue's symbols; the machine of :mod:`~openfingym.market.ingest` applies these in
order to the state, which nothing else changes; and the buffer is what agents read it through. Every input of the
machine is written to the session's tape first, so that a replay gives the same state bit for bit.
"""
