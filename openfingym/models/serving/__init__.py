"""Answering requests that somebody's own client makes of a model, in the form of OpenAI's or Anthropic's interface.

A hosted model's interface is a way to the internet: an endpoint fetches images by their address, keeps what it is told,
searches the web and runs tools. So nothing of a request is passed on. It is read into messages, tools and a few
options, which are all that :class:`openfingym.models.LanguageModel` takes, and the request that goes out is made anew
from these. What asks for more is refused where an answer without it would be another one than was asked for; fields
that only tune an answer are left out, and the request says which.
"""

from openfingym.models.serving import chat_completions, messages
from openfingym.models.serving.fields import RefusedRequestError
from openfingym.models.serving.request import ServedAnswer, ServedRequest

__all__ = ["RefusedRequestError", "ServedAnswer", "ServedRequest", "chat_completions", "messages"]
