"""The stand-in of the forge: rules over text that answer the forge's prompts, as ``stand-in/forge``.

A prompt of the forge names itself in its first line, ``Task: forge/NAME@VERSION``. :data:`HANDLERS` has one handler a
name. A handler sees what a model would see, the prompt, and nothing else; it knows no paper by name. Each stage of the
forge has its handlers in a module of its own here, below :data:`HOMES`.
"""

from openfingym_forge.stand_in.forge import HANDLERS, HOMES, Forge, Handler

__all__ = ["HANDLERS", "HOMES", "Forge", "Handler"]
