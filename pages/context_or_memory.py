"""RQ1: did the answer come from the context or from the model's memory?"""

from heval_core.ui import measured_cells
from heval_core.ui.filters import filter_bar
from heval_core.ui.page_run import results_page

TITLE = "Did it use the context or its memory?"
ABOUT = (
    "In one group of instances the model believed the document, in the other its own memory. A good explainer ranks "
    "the document's tokens higher if the document was used; the measures below say by how much, and how well the "
    "scores separate the two groups."
)

with results_page(TITLE, ABOUT) as results:
    chosen, k = filter_bar(results, ("model", "dataset", "regime"), metric_k=True)
    measured_cells.draw(results, chosen, k, "RQ1")
