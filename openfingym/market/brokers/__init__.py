"""Brokers: a local mirror of an account, the questions that keep it true, and an executor over both.

Nothing here but :mod:`~openfingym.market.brokers.live` and :mod:`~openfingym.market.brokers.journal` does input or
output. A runner hands in what the broker sent, each time with the
:class:`~openfingym.market.commands.Instant` at which it came, and carries out the requests that come back. A broker's
module (:mod:`~openfingym.market.brokers.alpaca`, :mod:`~openfingym.market.brokers.binance`) translates its messages to
:mod:`~openfingym.market.brokers.reports` and orders to requests; :mod:`~openfingym.market.brokers.mirror` merges the
reports, in whatever order and however often they come; :mod:`~openfingym.market.brokers.reconcile` decides what to ask
and when; :mod:`~openfingym.market.brokers.executor` is what an agent trades through.
"""
