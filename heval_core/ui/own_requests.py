"""Requests of *Your prompt*, by the id of the answer that they are for.

They are the server's, not a session's: whoever opens an answer's address finds the request for it, computing or over. So a
reload, a second tab and a page that was closed lose nothing; what is known when a request ends is kept, whoever looks.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from heval_core.prompt_service.client import AnswerRequest, Ticket, WordRequest, begin
from heval_core.records import HEvalError
from heval_core.records.whole_answers import WholeAnswer
from heval_core.records.word_answers import read_word
from heval_core.ui import own_prompts
from heval_core.ui.own_prompts import OwnPrompt

# Whose end is remembered, so that it can be said what became of them.
MOST = 64


@dataclass(eq=False)
class OwnRequest:
    """A request and its prompt. before: the answer of which more is asked."""

    prompt: OwnPrompt
    ticket: Ticket
    before: WholeAnswer | None = None

    @property
    def running(self) -> bool:
        return not self.ticket.over.is_set()

    @property
    def known(self) -> WholeAnswer | None:
        """The answer as far as it is known; where more is asked of one, that one until there is more."""
        return self.ticket.partial or self.before

    @property
    def trouble(self) -> str:
        """Why there is no answer, or no more of it."""
        return STOPPED if self.ticket.cancelled else self.ticket.error

    def look(self) -> None:
        """Note that somebody waits for it."""
        self.ticket.seen = time.monotonic()

    def stop(self) -> None:
        self.ticket.worker.cancel(self.ticket)


STOPPED = "Stopped: what was known by then is kept."
_requests: dict[str, OwnRequest] = {}
_changing = threading.Lock()


def of(name: str) -> OwnRequest | None:
    """Return the newest request for the answer with this id, which may be over."""
    return _requests.get(name)


def ask(prompt: OwnPrompt, request: AnswerRequest | WordRequest) -> OwnRequest:
    """Begin a request. The same question is not asked twice at a time: whoever asks it again joins."""
    with _changing:
        earlier = _requests.pop(prompt.id, None)
        if earlier is None or not earlier.running:
            before: WholeAnswer | None = dict(request).get("before")  # type: ignore[assignment]
            earlier = OwnRequest(prompt, begin(request, ending=lambda ticket: _keep(prompt, ticket), watched=True), before)
        _requests[prompt.id] = earlier
        for name in [name for name, one in _requests.items() if not one.running][:-MOST]:
            del _requests[name]
        return earlier


def ahead_of(pending: OwnRequest) -> list[OwnRequest | None]:
    """Return what the worker carries out before; None is a request about a stored prompt."""
    by_ticket = {id(one.ticket): one for one in list(_requests.values())}
    return [by_ticket.get(id(ticket)) for ticket in pending.ticket.ahead]


def _keep(prompt: OwnPrompt, ticket: Ticket) -> None:
    """Keep what is known of an answer when its request ends, however that was. It is said where that cannot be."""
    known = ticket.result or ticket.partial
    if known is None:
        return
    try:
        own_prompts.keep(prompt, read_word(known) if isinstance(known, dict) else known)
    except (OSError, HEvalError) as error:
        ticket.error = f"The answer cannot be kept in {own_prompts.gallery()}: {getattr(error, 'strerror', error)}."
