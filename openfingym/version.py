"""The version of OpenFinGym."""

__version__ = "0.1.0"
