"""The explorer's side of the child processes: one per model, one request at a time; browsing never waits for them.

A thread of each worker carries out its requests, one after the other, so that a page only looks at how far its request is: it
can be cancelled, outlives the page that began it, and a process that dies costs one request. Both sides say one JSON object a
line: a request is answered by {"progress": text} and {"new": changes of an answer} any number of times, then by {"result": …}
or {"error": text}. The result of an answer is all that was new.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from typing import Any, Literal, NotRequired, TypedDict

from heval_core.folders import ROOT
from heval_core.records import HEvalError
from heval_core.records.stored_instances import StoredInstance
from heval_core.records.whole_answers import WholeAnswer, applied, read

# Processes that are kept: each holds a model in memory.
MOST_WORKERS = 2
# Seconds that somebody waits for others' requests to end, where a page shows nothing meanwhile.
PATIENCE = 300.0
# Whoever has not looked for so many seconds waits no more: a page in the background looks once in sixty.
UNSEEN = 90.0
# The last step of an answer that takes little; what comes behind it is for somebody who waits.
LAST_CHEAP = "before done"
UNWATCHED = "Nobody was waiting: what was known by then is kept."


@dataclass(eq=False)
class Ticket:
    """One request under way. progress: what has been reported so far. partial: an answer, as far as it is known. result,
    error: one of them, when it is over. seen: when somebody last looked how far it is; None where that says nothing. ending:
    called with the ticket when its result or error is known, and nobody has heard of it."""

    request: ServiceRequest
    worker: PromptWorker
    ending: Callable[[Ticket], None] | None = None
    seen: float | None = None
    progress: list[str] = field(default_factory=list)
    partial: WholeAnswer | None = None
    result: Any = None
    error: str = ""
    cancelled: bool = False
    began: float = field(default_factory=time.monotonic)
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def ahead(self) -> list[Ticket]:
        """The requests that the worker carries out before this one."""
        before = takewhile(lambda other: other is not self, list(self.worker.tickets))
        return [other for other in before if not other.over.is_set()]

    @property
    def forgotten(self) -> bool:
        """Whether only steps that take long are left, and nobody waits for them."""
        unseen = self.seen is not None and time.monotonic() - self.seen > UNSEEN
        return unseen and (LAST_CHEAP in self.progress or "before" in self.request)

    def wait(self) -> Any:
        """Wait for the result. Raises HEvalError with the child's message, or where the child died or is too busy."""
        if not self.over.wait(PATIENCE) and self.ahead:
            self.worker.cancel(self)
            raise HEvalError("The worker is busy with another request; try again in a moment.")
        self.over.wait()
        if self.error:
            raise HEvalError(self.error)
        return self.result

    def end(self, result: Any = None, error: str = "") -> None:
        """End the request. One that was cancelled has no result, though that may have come too late to stop it."""
        self.result, self.error = (None, "Cancelled.") if self.cancelled else (result, error)
        try:
            if self.ending:
                self.ending(self)
        except Exception:  # a page shows one line; the trace is in the log
            traceback.print_exc()
            self.error = "The answer could not be kept; the log has the details."
        self.over.set()


class PromptWorker:
    """One child process for one model, started with the first request. tickets: those under way, the one it is at first."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.tickets: list[Ticket] = []
        self._changing = threading.Lock()

    def begin(self, request: ServiceRequest, ending: Callable[[Ticket], None] | None = None, watched: bool = False) -> Ticket:
        ticket = Ticket(request, self, ending, time.monotonic() if watched else None)
        with self._changing:
            self.tickets.append(ticket)
            if len(self.tickets) == 1:
                threading.Thread(target=self._carry, daemon=True).start()
        return ticket

    def cancel(self, ticket: Ticket) -> None:
        """End a request: one that waits at once; for one under way the process is stopped, and starts afresh with the next."""
        with self._changing:
            if ticket.over.is_set():
                return
            ticket.cancelled = True
            process = self.process  # read after that, as `_converse` writes it before it looks
            if self.tickets[:1] == [ticket]:
                if process is not None and not ticket.over.is_set():
                    process.kill()
            elif not ticket.over.is_set():
                ticket.end()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _carry(self) -> None:
        """Carry out requests until none is left."""
        while self.tickets:
            ticket = self.tickets[0]
            try:
                ticket.end(None if ticket.cancelled else self._converse(ticket))
            except HEvalError as error:
                ticket.end(error=str(error))
            except Exception as error:  # a page shows one line; the trace is in the log
                traceback.print_exc()
                self.stop()  # what is still to come must not meet the next request
                ticket.end(error=f"The worker could not be asked ({type(error).__name__}); the log has the details.")
            with self._changing:
                del self.tickets[0]
                if not self.tickets:
                    return

    def _converse(self, ticket: Ticket) -> Any:
        """Return the result. A process that had ended before it heard of the request is replaced, once."""
        heard, known = False, dict[str, Any]()
        for _ in range(2):
            process = self._running()
            if ticket.cancelled:  # before there was a process that could be stopped
                break
            for reply in _messages(process, ticket.request):
                if "result" in reply:
                    return reply["result"] if reply["result"] is not None else ticket.partial
                if "error" in reply:
                    raise HEvalError(reply["error"])
                heard = True
                if ticket.forgotten and reply.get("progress", "").startswith("now "):  # what is done is heard
                    self.stop()
                    raise HEvalError(UNWATCHED)
                if "progress" in reply:
                    ticket.progress.append(reply["progress"])
                elif "new" in reply:
                    known = applied(known or _before(ticket.request), reply["new"])
                    ticket.partial = read(known)
            self.stop()
            if heard:
                break
        raise HEvalError("The worker process ended before it answered; it starts afresh with the next request.")

    def _running(self) -> subprocess.Popen[str]:
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "heval_core.prompt_service.child"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"},  # a page fetches nothing
            )
        return self.process


def _before(request: ServiceRequest) -> dict[str, Any] | None:
    """Return the answer of which more is asked, as JSON has it."""
    return asdict(request["before"]) if request["op"] == "answer" and "before" in request else None


def _messages(process: subprocess.Popen[str], request: ServiceRequest) -> Iterator[dict[str, Any]]:
    """Yield what a process says to a request, until it ends."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError, json.JSONDecodeError):
        process.stdin.write(json.dumps(request, default=asdict) + "\n")
        process.stdin.flush()
        yield from map(json.loads, process.stdout)


# By their models, that of the newest request last.
_workers: dict[str, PromptWorker] = {}
_registry = threading.Lock()


def begin(request: ServiceRequest, *, ending: Callable[[Ticket], None] | None = None, watched: bool = False) -> Ticket:
    """Ask the worker of the request's model. Of more than MOST_WORKERS the one unused for longest is stopped, if idle.

    ending: see `Ticket`. watched: whether somebody is to look how far it is (`Ticket.seen`).
    """
    with _registry:
        _workers[request["model"]] = worker = _workers.pop(request["model"], None) or PromptWorker()
        ticket = worker.begin(request, ending, watched)
        for name in list(_workers)[:-MOST_WORKERS]:
            if all(earlier.over.is_set() for earlier in _workers[name].tickets):
                _workers.pop(name).stop()
        return ticket


def ask(request: ServiceRequest) -> Any:
    """Ask the worker of the request's model, and wait; raises as `Ticket.wait`."""
    return begin(request).wait()


class AsStored(TypedDict):
    """What is stored of a prompt's answer: its tokens, and the logits of its candidates' first tokens."""

    tokens: list[str]
    ids: list[int]
    logits: list[float]


class AnswerRequest(TypedDict):
    """Write an answer and explain all of it; the result is a `WholeAnswer`.

    model: a folder, here and below. dtype: float32, unless it says bfloat16. answer: given word for word, else the model
    writes at most `generate` tokens. more: explain a result `before` by these explainers as well, and do nothing again.
    part: explain by `more` its tokens [start, end) alone. against: explain the word that begins at this token against its
    rival. only_written: explain nothing.
    """

    op: Literal["answer"]
    model: str
    documents: list[str]
    question: str
    explainers: list[str]
    template: str
    generate: int
    answer: str | None
    dtype: NotRequired[str]
    more: NotRequired[list[str]]
    before: NotRequired[WholeAnswer]
    part: NotRequired[list[int] | None]
    against: NotRequired[int | None]
    only_written: NotRequired[bool]


class WordRequest(TypedDict):
    """Explain the first token of an answer by all explainers; the result is a `WordAnswer` as JSON has it.

    answers: of each document, "" where it is not named; memory: what the model is taken to remember, or "". target: one of
    `answer`, `named` and `context`, see `explain_request`. begun: ids of the answer so far, of which the next token is
    explained.
    """

    op: Literal["word"]
    model: str
    documents: list[str]
    question: str
    explainers: list[str]
    template: str
    dtype: str
    answers: list[str]
    memory: str
    target: str
    begun: list[int]


class HeadsRequest(TypedDict):
    """`heads`: every head's attention from the last position. `need`: the answer's lead over its competitor, and what it loses
    without each head; answer, foil: their token ids. Refused where the model does not say what is expected of it. template:
    from where to where a chat template's own text stands in the prompt."""

    op: Literal["heads", "need"]
    model: str
    prompt: str
    template: list[list[int]]
    answer: NotRequired[int]
    foil: NotRequired[int]
    expected: NotRequired[AsStored]


ServiceRequest = AnswerRequest | WordRequest | HeadsRequest


def asked_as_stored(instance: StoredInstance) -> AsStored:
    """Return what a request about a stored instance expects, so that the child refuses where its model answers otherwise."""
    return {
        "tokens": list(instance.tokens),
        "ids": [candidate.token_id for candidate in instance.candidates],
        "logits": [candidate.logit for candidate in instance.candidates],
    }
