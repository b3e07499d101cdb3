"""How the stand-in answers financial questions: by the tools, and from nothing but what the conversation shows."""

from openfingym_suites.stand_in.finance.replies import financial_reply

__all__ = ["financial_reply"]
