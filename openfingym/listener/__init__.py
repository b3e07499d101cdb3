"""Listening for clients: every server of this library lets them in through a :class:`Listener`.

It bounds what a stranger can take before anybody knows who asks (time, bytes, descriptors), and refuses what a web page
of another origin sends.
"""

from typing import TYPE_CHECKING

from openfingym.lazy import names_of

__all__ = ["Listener", "TlsCertificate"]

if TYPE_CHECKING:
    from openfingym.listener.listener import Listener
    from openfingym.listener.tls import TlsCertificate

__getattr__, __dir__ = names_of(__name__, {"Listener": "listener", "TlsCertificate": "tls"})
