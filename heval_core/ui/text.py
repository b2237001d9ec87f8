"""Text that comes from data is never markup on a page: `plain` takes the meaning out of every Markdown sign."""

from __future__ import annotations

import re
from typing import Any

# Also `:` (icons, colours), `$` (LaTeX) and `&`, `<` (HTML), which Streamlit's Markdown gives a meaning.
_SIGNS = re.compile(r"([\\`*_{}\[\]()#+\-.!|~:$^=])")
_INVISIBLE = {"\n": "⏎", "\t": "⇥", "\r": "␍", "\x00": "␀", "\u202e": "⟲"}


def plain(text: Any) -> str:
    """Text for st.markdown, st.caption and labels, shown as it is."""
    visible = "".join(_INVISIBLE.get(c, c) for c in str(text))
    escaped = _SIGNS.sub(r"\\\1", visible)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
