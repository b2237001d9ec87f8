"""Text from data is never markup: all HTML comes from the templates in `templates/`, which escape every text that they do not
mark as `safe`; and `plain` takes the meaning out of every Markdown sign."""

import base64
import hashlib
import re
from pathlib import Path
from typing import Any
from unicodedata import category

from jinja2 import Environment, FileSystemLoader, StrictUndefined

_GLYPHS = {"\n": "⏎", "\t": "⇥", "\r": "␍", "\x00": "␀", "\u202e": "⟲", "\u00a0": "⍽"}

TEMPLATES = Path(__file__).with_name("templates")
# Scripts and styles of the explorer's own components; a file of one's own may hold them too.
COMPONENTS = Path(__file__).parent.parent / "ui" / "components"

_environment = Environment(
    loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
)


def visible(text: object) -> str:
    """Show the invisible characters of a text as symbols; in no file of XML may the other control characters stand."""
    shown = ("\ufffd" if category(one) in ("Cc", "Cs") and one not in _GLYPHS else _GLYPHS.get(one, one) for one in str(text))
    return str(text) if str(text).isprintable() else "".join(shown)


_environment.filters["visible"] = visible
# Also `:` (icons, colours), `$` (LaTeX) and `&`, `<` (HTML), which Streamlit's Markdown gives a meaning.
_SIGNS = re.compile(r"([\\`*_{}\[\]()#+\-.!|~:$^=])")


def plain(text: object) -> str:
    """Escape a text for Markdown and for labels, where it is shown as it is."""
    escaped = _SIGNS.sub(r"\\\1", visible(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def render(template: str, **values: Any) -> str:
    """Fill a template. Raises jinja2.UndefinedError for a value that the template needs and did not get."""
    return _environment.get_template(template).render(values)


def scripts_of(name: str) -> list[Path]:
    """List the scripts that make one component's module, in their order."""
    return [COMPONENTS / "element.js", *(sorted((COMPONENTS / name).glob("*.js")) or [COMPONENTS / f"{name}.js"])]


def joined(name: str, kind: str) -> str:
    """Read the script (`js`) or the style (`css`) of the component `NAME.js` and `.css`, or of a folder `NAME` of
    such files.
    """
    folder = COMPONENTS / name
    style = [COMPONENTS / "element.css", (folder if folder.is_dir() else COMPONENTS) / f"{name}.css"]
    files = scripts_of(name) if kind == "js" else style
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def digest(text: str) -> str:
    """Return how a content-security policy names an inline script or style."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
