"""The options of a run of the study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from heval_core import catalogue
from heval_core.citations.writing import SHIPPED, Writer, writer_of
from heval_core.records import HEvalError
from precompute.citations.sources import open_claims
from precompute.grid import Options

# The regime of the study's shards and failures, so that it has its own lines where progress is told.
REGIME = "citations"
SAMPLE, REST = "sample", "rest"
MASKINGS = {"sample": (SAMPLE,), "full": (SAMPLE, REST)}
# Claims of a shard: a minute or two of work for most.
SIZE = 25


@dataclass(frozen=True)
class Study(Options):
    """Claims, writers, selectors and annotators, in every combination.

    claims: NAME=PATH, or your own FILE.jsonl
    writers: shipped, for the explanations that came with the claims; a Hugging Face id or a folder; or MODEL(prompt=ID) for
        another prompt
    selectors: comma-separated
    annotators: comma-separated; with options in brackets: explainer(loo),llm(model=ID)
    masking: one cited passage of each claim (the default), or every one
    llm: the address of a server that speaks the OpenAI interface, as http://localhost:8000/v1; it is asked in place of local
        models wherever a text is wanted
    """

    claims: tuple[str, ...]
    writers: tuple[str, ...]
    selectors: tuple[str, ...] = ("human",)
    annotators: tuple[str, ...] = ()
    masking: str = "sample"
    llm: str = ""

    CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {"masking": tuple(MASKINGS)}

    def pairs(self) -> Iterator[tuple[Writer, str]]:
        """Writers with selectors, each once. Explanations that came with their claims have their own passages."""
        for writer in dict.fromkeys(map(writer_of, self.writers)):
            named = (SHIPPED,) if writer.model == SHIPPED else self.selectors
            for selector in dict.fromkeys(catalogue.find("selector", key).key for key in named):
                yield writer, selector

    @property
    def parts(self) -> tuple[str, ...]:
        return MASKINGS[self.masking]

    def check(self) -> None:
        """Raises HEvalError for an unknown writer, selector, annotator, source of claims or number, before anything is
        loaded."""
        super().check()
        if not (self.claims and self.writers):
            raise HEvalError("The study needs --claims and --writers.")
        for text in self.writers:
            writer_of(text)
        for kind, named in (("selector", self.selectors), ("annotator", self.annotators)):
            for key in named:
                catalogue.find(kind, key)
        keys = [open_claims(name).key for name in self.claims]
        if twice := next((key for key in keys if keys.count(key) > 1), None):
            raise HEvalError(f"Two of --claims are called {twice}; give one of the files another name.")
        for name in self.claims:
            next(iter(open_claims(name).claims()), None)  # raises now if the file is missing or has another format

    def noted(self) -> dict[str, Any]:
        return {"study": REGIME, **super().noted()}
