"""A language model behind a server that speaks the OpenAI interface: vLLM, Ollama, `transformers serve`, and others.

It is asked through the library `openai`, an optional requirement, and only where the command line gives an address. The key
comes from HEVAL_LLM_KEY, else from OPENAI_API_KEY; a server that wants none gets a word in its place. Temperature is 0 and the
seed is fixed; whether equal prompts get equal answers is up to the server, so every answer is stored (`CachedSpeaker`).
A server that refuses, is slow, answers nonsense or goes away gives an answer with a problem; it never stops a run.
"""

import json
import os
import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from heval_core.citations.speaker import Reply, storable
from heval_core.records import HEvalError

KEYS = ("HEVAL_LLM_KEY", "OPENAI_API_KEY")
# The client wants a key, also for a server that wants none.
NO_KEY = "none"
# So many failures of the server in a row, and it is not asked again in this call.
IN_A_ROW = 8
LONGEST_MESSAGE = 300
TO_CONNECT = 10.0  # seconds; who is not there is not waited for as long as who writes
# Refusals of one prompt, too long a one for instance; the next prompt may be taken.
_OF_THE_PROMPT = (400, 413, 422)
_REASONS = {
    401: f"the server refuses the key (401); set {KEYS[0]}",
    403: f"the server refuses the key (403); set {KEYS[0]}",
    404: "the server does not know the address or the model (404)",
    429: "the server takes no more requests (429)",
}


class Server:
    """A speaker: one model of one server.

    url: the interface's address; `/v1` is added where it has no path. model: as the server calls it; it is the speaker's key.
    at_once: requests under way at a time. seconds: how long the server may be silent. retries: how often a request that
    failed for lack of time, connection or capacity is sent again, after the client's own growing waits. problems: why there
    was no answer, of all that was asked.
    Raises HEvalError for an address or a key that is none, and where the library is not installed.
    """

    def __init__(self, url: str, model: str, at_once: int = 8, seconds: float = 120, retries: int = 3, seed: int = 0):
        self.key, self.seconds, self.at_once, self.seed = model, seconds, at_once, seed
        self._address = _address(url)
        self._secret = _key()
        try:
            import openai
        except ImportError as error:
            raise HEvalError(
                "openai, which asks servers of language models, is not installed; run: pip install -r requirements-llm.txt"
            ) from error
        self._openai = openai
        limit = openai.Timeout(seconds, connect=min(seconds, TO_CONNECT))
        self._client = openai.OpenAI(api_key=self._secret, base_url=self._address, timeout=limit, max_retries=retries)
        self.problems: set[str] = set()
        self._failures = 0
        self._counting = threading.Lock()

    @property
    def address(self) -> str:
        """Without a user's name and password."""
        parts = urlsplit(self._address)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    @property
    def identity(self) -> str:
        return f"server {self.address} model {self.key} temperature 0 seed {self.seed}"

    def answer(self, prompts: Sequence[str], tokens: int) -> list[Reply]:
        """Ask for one answer per prompt, each as a user's turn; several requests are under way at once.

        Once the server has failed IN_A_ROW times in a row, the rest of this call gets a problem at once. The next call tries
        again, and its first failure is enough then.
        """
        self._failures = min(self._failures, IN_A_ROW - 1)
        pool = ThreadPoolExecutor(max_workers=max(1, min(self.at_once, len(prompts))))
        try:
            answers = list(pool.map(lambda prompt: self._answer(prompt, tokens), prompts))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # who interrupts a run does not wait for what is not asked yet
            raise
        pool.shutdown()
        self.problems |= {answer.problem for answer in answers if answer.problem}
        return answers

    def _answer(self, prompt: str, tokens: int) -> Reply:
        if self._failures >= IN_A_ROW:
            return Reply("", problem=f"not asked: the server at {self.address} failed {IN_A_ROW} times in a row")
        try:
            response = self._client.chat.completions.with_raw_response.create(
                model=self.key,
                messages=[{"role": "user", "content": storable(prompt)}],
                temperature=0,
                seed=self.seed,
                max_tokens=tokens,
            )
            answer = _read(response.content, tokens)
            self._count(failed=False)
            return answer
        except self._openai.APIStatusError as error:
            if error.status_code not in _OF_THE_PROMPT:
                self._count(failed=True)
            problem = self._refusal(error.status_code, error.body or error.message)
        except self._openai.APITimeoutError:
            self._count(failed=True)
            problem = f"the server did not answer within {self.seconds:g} s"
        except self._openai.APIConnectionError as error:
            self._count(failed=True)
            problem = f"the server at {self.address} cannot be reached: {self._line(error.__cause__ or error)}"
        except Exception as error:  # whatever one prompt or one answer makes the client raise
            problem = f"the server could not be asked: {self._line(error)}"
        return Reply("", problem=problem)

    def _count(self, failed: bool) -> None:
        with self._counting:
            self._failures = self._failures + 1 if failed else 0

    def _refusal(self, status: int, body: Any) -> str:
        reason = _REASONS.get(status, f"the server {'failed' if status >= 500 else 'refuses this'} ({status})")
        return f"{reason}: {self._line(body.get('message', body) if isinstance(body, dict) else body)}"

    def _line(self, failure: Any) -> str:
        """Say what is known of a failure, in one line, and never with the key, which some servers repeat."""
        line = " ".join(storable(str(failure)).split()) or type(failure).__name__
        return (line.replace(self._secret, "…") if self._secret != NO_KEY else line)[:LONGEST_MESSAGE]


def _key() -> str:
    """Read the key. Raises HEvalError for one that cannot be sent: the client would repeat it in its complaint."""
    name = next((name for name in KEYS if os.environ.get(name, "").strip()), "")
    key = os.environ[name].strip() if name else NO_KEY
    if not re.fullmatch(r"[!-~]+", key):
        raise HEvalError(f"{name} has a space or a character that no key has; set it to the key alone.")
    return key


def _address(url: str) -> str:
    """Parse an address. Raises HEvalError for what is no address of a server."""
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not parts.query
    except ValueError:
        usable = False
    if not usable:
        raise HEvalError(
            f"{url!r} is not the address of a server; give that of one that speaks the OpenAI interface, such as "
            "http://localhost:8000/v1."
        )
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") or "/v1", "", ""))


def _read(body: bytes, tokens: int) -> Reply:
    """Read the answer in a response. It is read here because the client takes any JSON for an answer."""
    try:
        response = json.loads(body)
        choice = response["choices"][0]
        text = choice["message"]["content"]
        full = choice.get("finish_reason") == "length"
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return Reply("", problem="the server answered something that is no chat completion")
    if not isinstance(text, str):
        return Reply("", problem="the server answered without a text")
    usage = response.get("usage")
    used = usage.get("completion_tokens") if isinstance(usage, dict) else None
    # A text that was cut off has all its tokens, whether the server counts them or not.
    return Reply.of_text(text, tokens if full else used if type(used) is int and used >= 0 else None)
