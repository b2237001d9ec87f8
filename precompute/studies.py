"""What can be planned and run: a grid of models and datasets, or the study of citations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from heval_core.citations.remembering import FILE as ANSWERS
from heval_core.store.shards import ShardStore
from precompute.citations.chunks import Citations, citations_of
from precompute.citations.study import Study
from precompute.fitting import with_fits
from precompute.grid import Grid
from precompute.highlights import Highlights
from precompute.models import Loading
from precompute.pair import Problems, pairs

Asked = Grid | Study


def parts_of(asked: Asked, store: ShardStore, problems: Problems) -> Iterator[Highlights | Citations]:
    """What is planned together. problems: is told what cannot be read or had."""
    if isinstance(asked, Study):
        yield from citations_of(asked, store, problems)
    else:
        yield from (Highlights(pair, store) for pair in pairs(asked, store, problems))


def with_stored(asked: Asked, folder: Path) -> Asked:
    """With the fits that a store has for explainers with parameters. Raises HEvalError for a damaged one."""
    return with_fits(asked, folder) if isinstance(asked, Grid) else asked


def loading_of(asked: Asked, store: ShardStore) -> Loading:
    how = asked.device, asked.dtype, asked.batch_tokens
    if isinstance(asked, Study):
        return Loading(*how, answers=store.folder / ANSWERS)
    return Loading(*how, own=asked.own, fits=asked.fits)
