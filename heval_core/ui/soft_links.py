"""Links in HTML of our own that lead to other pages without loading the whole explorer again."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from heval_core.ui.component import component


def href(page: str, parameters: Mapping[str, str | list[str]]) -> str:
    """The address of a page, relative to the Overview. page: as in its address."""
    asked = urlencode(parameters, doseq=True)
    return f"{page}?{asked}" if asked else page


def follow() -> None:
    """Makes links of the class `soft` on this page such links."""
    component("soft_links")(key="soft_links", data={})


def go(page: str, parameters: Mapping[str, str | list[str]]) -> None:
    """Open a page now, as if such a link had been clicked; draw it until that page is there."""
    component("soft_links")(key="soft_link_now", data={"go": href(page, parameters)})
