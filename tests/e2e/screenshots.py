"""python -m tests.e2e.screenshots: the pages of the bundled results as pictures in docs/screenshots."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from PIL import Image

from heval_core.evaluation.publishing import publish
from heval_core.store.filters import Filter
from heval_core.store.reader import Reader
from tests.e2e.browser import ROOT, explorer, launched, page_of, settle, visit

OUT = ROOT / "docs" / "screenshots"


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        reader = Reader(publish(ROOT / "cache" / "demo", Path(folder), bundled=True))
        chosen = Filter(model=("demo-qwen2",), dataset=("world_capital",), regime=("double_conflicting",), group=("C2",))
        instance = reader.instance_ids(chosen)[1]
        real = publish(ROOT / "cache" / "real", Path(folder) / "real", bundled=True).parent
        answer = "your_prompt?result=1-copied&words=12-32"
        shown = {folder: {}, str(real): {"overview": "", "leaderboard_real": "leaderboard", "your_prompt": answer}}
        shown[folder] = {
            "regimes": "leaderboard?tab=regime&question=document",
            "failures": "leaderboard?tab=failures",
            "compare": "leaderboard?tab=against&first=fa&second=mechlight",
            "instance": f"instances?instance={instance}&painted=fa",
            "instance_rows": f"instances?instance={instance}&mode=rows&list=open&model=demo-qwen2",
            "instance_head": f"instances?instance={instance}&pick=L0H1&painted=head",
            "leaderboard": "leaderboard?tab=overall",
            "techniques": "techniques",
            "citations": "citations",
            "claim": "citations?tab=claim&writer=sloppy&only=wrong_marker",
            "about": "about",
            "data": "about?tab=data",
            "methods": "about?tab=methods",
        }
        for store, pages in shown.items():
            with explorer(HEVAL_STORE=store) as url, launched() as browser:
                for dark in (False, True):
                    with page_of(browser, dark=dark) as page:
                        for name, path in pages.items():
                            visit(page, f"{url}/{path}")
                            settle(page)
                            page.wait_for_timeout(2500)  # the form slides in
                            save(page.screenshot(), OUT / f"{name}-{'dark' if dark else 'light'}.png")


def save(picture: bytes, path: Path) -> None:
    """With a palette: a page has few colours, and git keeps every version. It covers all colours that occur, so that no two
    marks share one, then moves to those of most pixels: else greys are green."""
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    whole.quantize(256, Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
