"""Every page begins and ends here."""

from __future__ import annotations

import json
import logging
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager

from heval_core.records import HEvalError
from heval_core.store.reader import Reader
from heval_core.ui import address, provenance
from heval_core.ui.exports import link_button
from heval_core.ui.published_results import reader
from heval_core.ui.text import plain
from heval_core.wording import DEMO_NOTE

_log = logging.getLogger("heval")
_MARK = "came_through_app"


def mark() -> None:
    """Called by app.py in every run."""
    st.session_state[_MARK] = True


def through_app() -> None:
    """Run again through app.py where Streamlit has not.

    Because there is a folder named `pages`, a fresh server runs a sub-page by itself, without table of contents and
    sidebar, until st.navigation was called once: a link to a sub-page would open broken. So the flag is set here.
    """
    if _MARK not in st.session_state:
        PagesManager.uses_pages_directory = False
        st.rerun()


@contextmanager
def results_page(
    title: str = "",
    caption: str = "",
    *,
    link: bool = True,
    demo_note: bool = False,
    meanwhile: Callable[[], None] | None = None,
) -> Iterator[Reader]:
    """A page of the results: title, caption and the page itself; below it where its numbers come from, and its link.

    title: empty where the page draws its own below its tabs; the same holds for link. demo_note: say so if these are the
    bundled demo results. meanwhile: draws what there is to see while the results are being published.
    """
    through_app()
    address.notices()
    if title:
        st.title(title)
    if caption:
        st.caption(caption)
    results = reader(meanwhile)
    if demo_note and results.bundled:
        st.info(DEMO_NOTE, icon=":material/science:")
    yield results
    provenance.draw(results)
    if link:
        link_button(results)


@contextmanager
def watched(page: str) -> Iterator[None]:
    """A page's error is an id on the page and a trace in the log.

    Where HEVAL_TIMING names a file, how long the page took on the server is appended to it; for measuring, off by default.
    """
    file, started = os.environ.get("HEVAL_TIMING"), time.perf_counter()
    try:
        yield
    except HEvalError as error:  # written for users
        _log.exception("on the page %s", page)
        st.error(plain(str(error)), icon=":material/error:")
    except Exception:
        error_id = uuid.uuid4().hex[:8]
        _log.exception("error %s on the page %s", error_id, page)
        st.error(
            f"Something went wrong here (error {error_id}); the log has the details. The other pages still work.",
            icon=":material/error:",
        )
    finally:
        if file:
            with Path(file).open("a", encoding="utf-8") as out:
                out.write(json.dumps({"page": page, "seconds": time.perf_counter() - started}) + "\n")
