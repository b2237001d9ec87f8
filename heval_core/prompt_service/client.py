"""The explorer's side of the child processes: one per model, one request at a time; browsing never waits for them.

A request is carried by a thread of its own, so that a page only looks at how far it is: it can be cancelled, outlives the page
that began it, and a worker that dies costs one request. Both say one JSON object a line: a request is answered by
{"progress": text} and {"partial": what is known so far} any number of times, then by {"result": …} or {"error": text}.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NotRequired, TypedDict

from heval_core.installed import ROOT
from heval_core.records import HEvalError
from heval_core.stored import StoredInstance

# Processes that are kept: each holds a model in memory.
KEPT = 2
PATIENCE = 300


@dataclass
class Ticket:
    """One request under way. progress: what has been said so far. partial: the result, as far as it is known. result, error:
    one of them, when it is over."""

    request: Answer
    worker: Worker
    progress: list[str] = field(default_factory=list)
    partial: Any = None
    result: Any = None
    error: str = ""
    cancelled: bool = False
    over: threading.Event = field(default_factory=threading.Event)

    def hear(self, said: Any) -> None:
        """A text is how far it is; anything else is the result so far."""
        if isinstance(said, str):
            self.progress.append(said)
        else:
            self.partial = said


@dataclass
class Worker:
    """One worker process for one model; a lock lets one request in at a time."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    process: subprocess.Popen[str] | None = None
    waiting: int = 0
    current: Ticket | None = None
    # Requests that it was handed out for and that are not over: while there are any it is not stopped for another model.
    claims: int = 0

    def ask(self, request: Request, progress: Callable[[Any], None] = lambda said: None, ticket: Ticket | None = None) -> Any:
        """Send one request and wait for its result. ticket: the one that carries it, so that it can be cancelled.

        Raises HEvalError with the worker's message, or where the worker is busy or died (it is started afresh then).
        """
        self.waiting += 1
        try:
            self._wait(ticket)
        finally:
            self.waiting -= 1
        try:
            self.current = ticket
            if ticket is not None and ticket.cancelled:
                raise HEvalError("Cancelled.")
            return self._converse(request, progress, ticket)
        finally:
            self.current = None
            self.lock.release()

    def _wait(self, ticket: Ticket | None) -> None:
        """Until it is this request's turn. Raises HEvalError where it is cancelled meanwhile, or never comes."""
        until = time.monotonic() + PATIENCE
        while not self.lock.acquire(timeout=0.1):
            if ticket is not None and ticket.cancelled:
                raise HEvalError("Cancelled.")
            if time.monotonic() > until:
                raise HEvalError("The worker is busy with another request; try again in a moment.")

    def _converse(self, request: Request, progress: Callable[[Any], None], ticket: Ticket | None) -> Any:
        """The answer. A process that had ended before it heard of the request is replaced, once."""
        heard: list[Any] = []

        def hear(said: Any) -> None:
            heard.append(said)
            progress(said)

        for _ in range(2):
            process = self._running()
            if ticket is not None and ticket.cancelled:  # before there was a process that could be stopped
                break
            answer = self._answer(process, request, hear)
            if answer is not None:
                return answer["result"]
            self.stop()
            if heard:
                break
        raise HEvalError("The worker process ended before it answered; it starts afresh with the next request.")

    def _answer(
        self, process: subprocess.Popen[str], request: Request, progress: Callable[[Any], None]
    ) -> dict[str, Any] | None:
        """What the process says; None if it ended instead. Raises HEvalError with its message."""
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                answer: dict[str, Any] = json.loads(line)
                if "progress" in answer or "partial" in answer:
                    progress(answer.get("progress", answer.get("partial")))
                elif "error" in answer:
                    raise HEvalError(answer["error"])
                else:
                    return answer
        except (BrokenPipeError, json.JSONDecodeError):
            pass
        except BaseException:
            # The page was left in the middle of an answer: what is still to come must not meet the next request.
            if not isinstance(sys.exc_info()[1], HEvalError):
                self.stop()
            raise
        return None

    def _running(self) -> subprocess.Popen[str]:
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "heval_core.prompt_service.child"],
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "TOKENIZERS_PARALLELISM": "false"},
            )
        return self.process

    def begin(self, request: Answer, over: Callable[[], None] = lambda: None) -> Ticket:
        """Send one request from a thread of its own. over: called when it is over."""
        ticket = Ticket(request, self)

        def carry() -> None:
            try:
                ticket.result = self.ask(request, ticket.hear, ticket)
                if ticket.cancelled:  # too late to stop it, but nobody wants it any more
                    ticket.error = "Cancelled."
            except HEvalError as error:
                ticket.error = "Cancelled." if ticket.cancelled else str(error)
            except Exception as error:  # a page shows one line; the trace is in the log
                ticket.error = f"The worker could not be asked ({type(error).__name__}); the log has the details."
                raise
            finally:
                over()
                ticket.over.set()

        threading.Thread(target=carry, daemon=True).start()
        return ticket

    def cancel(self, ticket: Ticket) -> None:
        """End a request: the process is stopped if it is at this one, and starts afresh with the next."""
        ticket.cancelled = True
        if self.current is ticket and self.process is not None:
            self.process.kill()

    def ahead(self) -> int:
        """How many requests are before a new one."""
        return self.waiting + self.lock.locked()

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


@functools.cache
def _workers() -> dict[str, Worker]:
    return {}


_registry = threading.Lock()


def _claim(model: str) -> Worker:
    """The worker of a model's folder, for one request. Of more than KEPT the one unused for longest is stopped, if idle."""
    with _registry:
        known = _workers()
        worker = known.pop(model, None) or Worker()
        known[model] = worker  # the newest last
        worker.claims += 1
        for name in list(known)[:-KEPT]:
            if not known[name].claims:
                known.pop(name).stop()
        return worker


def _release(worker: Worker) -> None:
    with _registry:
        worker.claims -= 1


def ask(request: Request) -> Any:
    """Ask the worker of the request's model, and wait. Raises HEvalError with its message."""
    worker = _claim(request["model"])
    try:
        return worker.ask(request)
    finally:
        _release(worker)


def begin(request: Answer) -> Ticket:
    """Ask the worker of the request's model from a thread of its own."""
    worker = _claim(request["model"])
    return worker.begin(request, over=lambda: _release(worker))


class Stored(TypedDict):
    """What is stored of a prompt's answer: its tokens, and the logits of its candidates' first tokens."""

    tokens: list[str]
    ids: list[int]
    logits: list[float]


class Answer(TypedDict):
    """Write an answer and explain all of it; the result is what `precompute explain --generate N --format json` prints.

    model: a folder, here and below. dtype: float32, unless it says bfloat16. answer: given word for word, else the model
    writes at most `generate` tokens. more: of the answer before, explain it by these explainers as well, and do nothing
    again. part: explain by `more` its tokens [start, end) alone. only_written: explain nothing.
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
    part: NotRequired[list[int]]
    only_written: NotRequired[bool]


class Heads(TypedDict):
    """Every head's attention from the last position. Refused where the model does not say of the prompt what is expected.

    in_chat: whether the prompt holds a chat template with its special tokens; here and below.
    """

    op: Literal["heads"]
    model: str
    prompt: str
    in_chat: bool
    expected: NotRequired[Stored]


class Ablate(TypedDict):
    """The answer's lead over its competitor, whole and without each head in turn. answer, foil: token ids."""

    op: Literal["ablate"]
    model: str
    prompt: str
    in_chat: bool
    answer: int
    foil: int
    expected: NotRequired[Stored]


Request = Answer | Heads | Ablate


def asked_as_stored(instance: StoredInstance) -> Stored:
    """What a request about a stored instance expects, so that the child refuses where its model answers otherwise."""
    return {
        "tokens": list(instance.tokens),
        "ids": [candidate.token_id for candidate in instance.candidates],
        "logits": [candidate.logit for candidate in instance.candidates],
    }
