"""The rows of `context_attribution`: explanations of the first document's answer, whatever the model answered.

Only instances whose usual attribution explains another answer have such rows. Controls get them for the instances that have
rows of a method.
"""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from heval_core.evaluation.scored import control_attributions
from heval_core.store.kinds import ATTRIBUTION


def rows_of(found: pd.DataFrame, kept: pd.DataFrame) -> pa.Table:
    """The table's rows, instance by instance in the order of `kept`, and by explainer.

    found: the methods' rows, one for each instance and explainer. kept: the instances that metrics use.
    """
    own = kept[kept["instance_id"].isin(found["instance_id"])]
    controls = pd.DataFrame(control_attributions(own, first_document_tokens(own)), columns=ATTRIBUTION.schema.names)
    return pa.Table.from_pandas(in_order(found, controls, own), schema=ATTRIBUTION.schema, preserve_index=False)


def in_order(methods: pd.DataFrame, controls: pd.DataFrame, instances: pd.DataFrame) -> pd.DataFrame:
    """The rows of methods and controls for these instances, in the instances' order and by explainer."""
    order = {instance_id: index for index, instance_id in enumerate(instances["instance_id"])}
    rows = pd.concat([methods, controls], ignore_index=True) if len(controls) else methods
    rows = rows[rows["instance_id"].isin(order)]
    return rows.assign(order=rows["instance_id"].map(order)).sort_values(["order", "explainer"])


def first_document_tokens(instances: pd.DataFrame) -> list[str]:
    """The first token of each first document's answer, as it is written in that document."""
    return [str(row.tokens[row.answer_tokens[0][0]]) for row in instances.itertuples()]
