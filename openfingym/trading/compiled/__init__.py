"""The simulator for many accounts at once, compiled; it agrees with the readable one bit for bit.

Most modules are the compiled twin of the readable module of the same name, in which the reasons for the market's rules
are told; comments here tell what differs for the compiler's sake. Everything is kept in arrays, whose columns
:mod:`~openfingym.trading.compiled.layout` names, and short names mean the same in all modules: ``a`` is the state of
all accounts and ``i`` the account, ``m`` the market's numbers, ``s`` a symbol, ``k`` the place of an order among the
account's, ``t`` a row of the bars, and ``d`` the direction, 1 for a buy and -1 for a sell.
"""
