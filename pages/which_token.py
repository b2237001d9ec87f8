"""RQ3: which token did the answer come from?"""

from heval_core.ui import measured_cells
from heval_core.ui.filters import filter_bar
from heval_core.ui.page_run import results_page

TITLE = "Which token did the answer come from?"
ABOUT = (
    "If the answer came from a document, the document contains it word for word, and these tokens should rank first. The "
    "control *lexical* only looks for the answer's own token, so it finds it by construction: its bar shows what a "
    "string match achieves, not a level that a method has to beat."
)

with results_page(TITLE, ABOUT) as results:
    chosen, k = filter_bar(results, ("model", "dataset", "regime"), metric_k=True)
    measured_cells.draw(results, chosen, k, "RQ3")
