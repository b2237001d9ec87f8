"""RQ2: if there were two documents, which one did the answer come from?"""

from heval_core.ui import measured_cells
from heval_core.ui.filters import filter_bar
from heval_core.ui.page_run import results_page

TITLE = "Which document did the answer come from?"
ABOUT = (
    "Two documents offer two answers, and the model gave one of them. A good explainer ranks the used document's "
    "tokens above the other's, whether it comes first or second. Every question is also asked with the documents swapped, "
    "so that a preference for one position shows."
)

with results_page(TITLE, ABOUT) as results:
    chosen, k = filter_bar(results, ("model", "dataset", "regime"), metric_k=True)
    measured_cells.draw(results, chosen, k, "RQ2")
