"""A server that speaks the Model Context Protocol: ``openfingym mcp TASK``.

::

    played.py      the rollout that a client plays
    messages.py    requests and notifications, and the answers to them
    stdio.py       one client, by standard input and output
    streamable.py  many clients, over HTTP

The protocol is implemented here and its SDK is not used, whose major versions exclude each other: it is JSON-RPC, of
which a server of tools needs a dozen methods.
"""
