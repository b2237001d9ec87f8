"""The options of a run of the study."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from heval_core import catalogue
from heval_core.citations.writing import SHIPPED, Writer, writer_of
from heval_core.lm.loading import DTYPES, choose_device, choose_dtype
from heval_core.records import HEvalError
from precompute.citations.sources import open_claims

# The regime of the study's shards and failures, so that it has its own lines where progress is told.
REGIME = "citations"
SAMPLE, REST = "sample", "rest"
MASKINGS = {"sample": (SAMPLE,), "full": (SAMPLE, REST)}


@dataclass(frozen=True)
class Study:
    """claims: as `open_claims` reads them. writers: as `writer_of` reads them. selectors, annotators: keys. limit: claims of
    each source. shard_size: claims of a shard; 25 are a minute or two of work for most. masking: one of MASKINGS. llm: the
    address of the server that answers in place of local models; "" for none.
    """

    claims: tuple[str, ...]
    writers: tuple[str, ...]
    selectors: tuple[str, ...] = ("human",)
    annotators: tuple[str, ...] = ()
    masking: str = "sample"
    llm: str = ""
    limit: int | None = None
    shard_size: int = 25
    seed: int = 0
    device: str = "auto"
    dtype: str = "auto"
    batch_tokens: int | None = None

    def pairs(self) -> Iterator[tuple[Writer, str]]:
        """Writers with selectors, each once. Explanations that came with their claims have their own passages."""
        for writer in dict.fromkeys(map(writer_of, self.writers)):
            named = (SHIPPED,) if writer.model == SHIPPED else self.selectors
            for selector in dict.fromkeys(catalogue.find("selector", key).key for key in named):
                yield writer, selector

    @property
    def parts(self) -> tuple[str, ...]:
        return MASKINGS[self.masking]


def check(study: Study) -> None:
    """Raises HEvalError for an unknown writer, selector, annotator, source of claims or number, before anything is loaded."""
    for text in study.writers:
        writer_of(text)
    for key in study.selectors:
        catalogue.find("selector", key)
    for key in study.annotators:
        catalogue.find("annotator", key)
    keys = [open_claims(name).key for name in study.claims]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise HEvalError(f"Two of --claims are called {twice}; give one of the files another name.")
    for name in study.claims:
        next(iter(open_claims(name).claims()), None)  # raises now if the file is missing or has another format
    if study.masking not in MASKINGS:
        raise HEvalError(f"--masking is {study.masking!r}; it must be {' or '.join(MASKINGS)}.")
    if study.limit is not None and study.limit < 1:
        raise HEvalError(f"--limit is {study.limit}; it must be at least 1.")
    if study.shard_size < 1:
        raise HEvalError(f"--shard-size is {study.shard_size}; it must be at least 1.")
    if not (study.claims and study.writers):
        raise HEvalError("The study needs --claims and --writers.")


def dtype_of(study: Study) -> str:
    """The dtype that `auto` stands for."""
    if study.dtype in DTYPES:
        return study.dtype
    return str(choose_dtype(study.dtype, choose_device(study.device))).removeprefix("torch.")
