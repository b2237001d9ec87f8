"""Where data lies: in a checkout in its `cache/`; of an installed package in the user's cache folder, but for what comes with
the program. And where the explorer's own files are, and how the command line is called here."""

import os
import sys
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
ROOT = _PACKAGE.parent
# Only a wheel has these folders; pyproject.toml says what it puts there.
_BUNDLED, _PAGES = _PACKAGE / "bundled", _PACKAGE / "explorer"


def data_folder(name: str, bundled: bool = False) -> Path:
    """Return the folder of one kind of data, such as `results`, which may not be there yet.

    bundled: whether it comes with the program (`real`, `demo`, `examples`), and is only read.
    """
    if not _BUNDLED.is_dir():
        return ROOT / "cache" / name
    if bundled:
        return _BUNDLED / name
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "heval" / name


# The batch job's own store; and by what addresses call them the results that come with the program: where they are published,
# and their shards.
RESULTS = data_folder("results")
BUNDLED = {name: (data_folder(f"{name}-results"), data_folder(name, bundled=True)) for name in ("real", "demo")}


def bundled_shards(store: Path) -> Path | None:
    """Return the shards behind a folder that comes with the program, or is published of it; None for any other folder."""
    return next((shards for published, shards in BUNDLED.values() if store.resolve() in (published, shards)), None)


def explorer() -> Path:
    """Return the folder that has `app.py`, `pages/` and `docs/benchmarks.md`."""
    return _PAGES if _PAGES.is_dir() else ROOT


def traces_folder() -> Path:
    """Return where traced logs lie; `HEVAL_TRACES` may name another folder."""
    return Path(os.environ.get("HEVAL_TRACES") or data_folder("traces"))


def short(path: Path) -> Path:
    """Return a path as one would type it here: without the working folder where it lies in that."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def program() -> str:
    """Return how one calls the command line here, as messages name it.

    `heval` where it was called so, and where there is no checkout; in a checkout what works without an installed package.
    """
    return "heval" if _BUNDLED.is_dir() or Path(sys.argv[0]).stem == "heval" else "python -m precompute"
