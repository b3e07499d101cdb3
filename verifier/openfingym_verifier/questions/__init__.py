"""Questions about what has not happened yet: asked, forecast, resolved and scored, in the ledger and in its log.

::

    pending -> resolvable -> resolved -> scored
                   |-> void     there will be no truth, or none came within two weeks
                   |-> error    the provider could not be asked; tried again

Every transition is one event: an operation on the ledger and its row of the log.
"""
