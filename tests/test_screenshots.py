"""A committed screenshot shows the colours of its page."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from heval_core.catalogue import explainers
from heval_core.figures.palette import colour
from tests.e2e.screenshots import save


def test_every_explainers_mark_keeps_its_colour_among_the_greys_of_text(tmp_path):
    marks = [tuple(bytes.fromhex(colour(key).lstrip("#"))) for key in explainers()]
    page = np.random.default_rng(0).integers(60, 255, (400, 400, 1)) + np.random.default_rng(1).integers(-6, 1, (400, 400, 3))
    for place, mark in enumerate(marks):
        page[20 * place : 20 * place + 12, :12] = mark
    buffer = io.BytesIO()
    Image.fromarray(page.astype(np.uint8)).save(buffer, "png")
    save(buffer.getvalue(), tmp_path / "page.png")
    saved = np.asarray(Image.open(tmp_path / "page.png").convert("RGB"))
    for place, mark in enumerate(marks):
        assert np.abs(saved[20 * place + 6, 6].astype(int) - mark).max() <= 16
