"""A server that speaks OpenEnv's wire protocol: ``openfingym env serve --openenv TASK``.

::

    wire.py        frames of a WebSocket: read, checked, written
    rpc.py         JSON-RPC of ``/mcp``
    served.py      what a server offers: tasks, splits, schemas
    stepped.py     an episode of a Gymnasium environment in this process
    tools.py       a verified rollout that is played by calling tools
    sessions.py    sessions of one environment each: bounded in number, closed when forgotten
    sockets.py     the WebSockets ``/ws`` and ``/mcp``
    routes.py      everything over plain HTTP
    serving.py     the server as a whole

A failure of ours is an error, in a frame or a response; it never becomes a reward.
"""
