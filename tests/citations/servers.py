"""A server of language models for tests: it speaks the OpenAI interface on a port of this machine, and can misbehave.

    with serving(answers) as server:
        speaker = Server(server.url, "demo", retries=0)

`answers` is anything that maps a prompt and a cap on tokens to a text; `by(speaker)` lets a local speaker answer.
`server.mode` is how it answers from now on, and `server.turns` how it answers the next requests first, one each:

    right       as the interface says                 cut         right, but says that the cap ended the text
    page        a web page                            other       JSON of another form
    textless    a message without a text              thinking    a text with thoughts before it
    slow        nothing, until the test is over       401, 429, …  refuses with this status
    hangs_up    closes without a word                 breaks_off  closes in the middle of its answer
    leaves      closes, and is no longer there
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from heval_core.citations.speaker import Speaker

Answers = Callable[[str, int], str]


class ModelServer(ThreadingHTTPServer):
    """asked: the bodies of requests, in order. keys: their `Authorization`. together: the most that were under way at once."""

    daemon_threads = True

    def __init__(self, answers: Answers, models: tuple[str, ...]):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers, self.models = answers, models
        self.mode, self.turns, self.headers = "right", list[str](), dict[str, str]()
        self.asked, self.keys = list[dict[str, Any]](), list[str]()
        self.under_way = self.together = 0
        self.over, self.counting = threading.Event(), threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def leave(self) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a client that lost its patience is part of some tests."""


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_GET(self) -> None:
        models = [{"id": name, "object": "model", "owned_by": "test", "created": 0} for name in self.server.models]
        self._send(200, {"object": "list", "data": models})

    def do_POST(self) -> None:
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with server.counting:
            server.asked.append(body)
            server.keys.append(self.headers.get("Authorization", ""))
            mode = server.turns.pop(0) if server.turns else server.mode
            server.under_way += 1
            server.together = max(server.together, server.under_way)
        try:
            self._answer(mode, body)
        finally:
            with server.counting:
                server.under_way -= 1

    def _answer(self, mode: str, body: dict[str, Any]) -> None:
        if mode.isdigit():
            told = {"message": f"no, and by the way:\nyour key is {self.headers.get('Authorization', '')}", "type": "refusal"}
            self._send(int(mode), {"error": told})
        elif mode == "slow":
            self.server.over.wait()
        elif mode == "leaves":
            self.server.leave()
        elif mode == "hangs_up":
            self.close_connection = True
        elif mode == "page":
            self._send(200, b"<html><body><h1>It works!</h1></body></html>", "text/html")
        elif mode == "other":
            self._send(200, {"choices": [{"text": "what another interface says"}]})
        elif body["model"] not in self.server.models:
            self._send(404, {"error": {"message": f"there is no model {body['model']}"}})
        else:
            self._right(mode, body)

    def _right(self, mode: str, body: dict[str, Any]) -> None:
        text: str | None = self.server.answers(body["messages"][-1]["content"], body["max_tokens"])
        if mode == "thinking":
            text = f"<think>Is it 7? Or 8?</think>\n{text}"
        message = {"role": "assistant", "content": None if mode == "textless" else text}
        choice = {"index": 0, "message": message, "finish_reason": "length" if mode == "cut" else "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 3, "total_tokens": 4}
        whole = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}
        self._send(200, whole | {"usage": usage}, broken=mode == "breaks_off")

    def _send(self, status: int, told: Any, kind: str = "application/json", broken: bool = False) -> None:
        body = told if isinstance(told, bytes) else json.dumps(told).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if broken else body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: tests say themselves what was asked."""


@contextmanager
def serving(answers: Answers, models: tuple[str, ...] = ("demo",)) -> Iterator[ModelServer]:
    """A server that runs until the block ends."""
    server = ModelServer(answers, models)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.over.set()
        server.leave()
        thread.join()


def by(speaker: Speaker) -> Answers:
    """Answers of a speaker, one at a time: a model in memory answers one request after the other."""
    one = threading.Lock()

    def answers(prompt: str, tokens: int) -> str:
        with one:
            return speaker.answer([prompt], tokens)[0].text

    return answers


def no_waiting(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The client's waits between retries, which are counted in seconds and not waited for."""
    import time

    import openai._base_client

    waits: list[float] = []
    monkeypatch.setattr(openai._base_client, "time", SimpleNamespace(sleep=waits.append, time=time.time))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    for name in ("HEVAL_LLM_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return waits
