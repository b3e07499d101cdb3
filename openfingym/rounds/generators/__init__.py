"""The generators that come with the library, each a module that ends with ``GENERATOR = ...``."""
