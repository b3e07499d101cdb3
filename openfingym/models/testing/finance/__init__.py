"""The stand-in's answers to financial questions: by the tools, from what a conversation shows alone."""

from openfingym.models.testing.finance.replies import financial_reply

__all__ = ["financial_reply"]
