"""The rows of `context_attribution`: what explainers say for the first document's answer, whatever the model has answered.

Only instances whose usual attribution explains something else have such rows; a control has them where a method has.
"""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from heval_core.evaluation.scored import control_attributions
from heval_core.store.shards import ATTRIBUTION


def rows_of(found: pd.DataFrame, kept: pd.DataFrame) -> pa.Table:
    """The table's rows, instance by instance in the order of `kept`, and by explainer.

    found: the methods' rows, columns as in ATTRIBUTION. kept: the instances that take part in metrics.
    """
    found = found.drop_duplicates(["instance_id", "explainer"], keep="last")
    own = kept[kept["instance_id"].isin(found["instance_id"])]
    controls = pd.DataFrame(control_attributions(own, first_document_tokens(own)), columns=ATTRIBUTION.names)
    order = {instance_id: index for index, instance_id in enumerate(own["instance_id"])}
    rows = pd.concat([found, controls], ignore_index=True) if len(controls) else found
    rows = rows[rows["instance_id"].isin(order)]
    rows = rows.assign(order=rows["instance_id"].map(order)).sort_values(["order", "explainer"])
    return pa.Table.from_pandas(rows, schema=ATTRIBUTION, preserve_index=False)


def first_document_tokens(instances: pd.DataFrame) -> list[str]:
    """The text of the first token of each first document's answer, as it stands there."""
    return [str(row.tokens[row.answer_tokens[0][0]]) for row in instances.itertuples()]
