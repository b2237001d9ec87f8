"""One instance as a self-contained HTML file: no script, no request; its content-security policy allows one style."""

from __future__ import annotations

from collections.abc import Sequence

from heval_core.figures.highlights import Scored, highlights
from heval_core.html import digest, render
from heval_core.present.names import regime_title
from heval_core.records import TECHNIQUE
from heval_core.stored import StoredInstance


def instance_page(instance: StoredInstance, rows: Sequence[Scored], k: int, snapshot_id: str) -> str:
    """rows: one per explainer, over all tokens. k: how many are framed."""
    drawn = highlights(instance.tokens, instance.ranked, instance.documents, instance.used_document, rows, k)
    # What a browser hashes is the style as it stands in the file.
    style = render("instance.css", drawn=drawn)
    regime = regime_title(instance.regime)
    if instance.technique != TECHNIQUE:
        regime = f"{regime} · {instance.technique}"
    return render(
        "instance.html",
        title=f"{instance.model} on {instance.dataset}: {instance.subject}",
        instance=instance,
        regime=regime,
        drawn=drawn,
        style=style,
        digest=digest(style),
        k=k,
        snapshot_id=snapshot_id,
    )
