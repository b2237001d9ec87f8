"""The real public files, where they lie beside the project."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from heval_core.datasets._reading import BadRecord, Unusable
from precompute.questions import open_dataset
from tests.conftest import ROOT

DATA = ROOT.parent / "shared" / "data"
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not DATA.is_dir(), reason=f"the real data files are not at {DATA}")]

FAKEPEDIA = f"fakepedia={DATA}/fakepedia/base_fakepedia.json"


def counted(name: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for record in open_dataset(name).facts():
        assert not isinstance(record, BadRecord), record
        found[record.reason if isinstance(record, Unusable) else "fact"] += 1
    return found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (FAKEPEDIA, {"fact": 841}),
        (f"counterfact={DATA}/counterfact/known_1000.json", {"fact": 1208, "no conflicting document": 1}),
        (f"counterfact={DATA}/counterfact/compmech_gpt2.json", {"fact": 3841, "answer in subject": 6159}),
        (f"counterfact={DATA}/pararel", {"fact": 802, "answer in subject": 157}),
        (f"conflictqa={DATA}/conflictqa/conflictQA-strategyQA-qwen7b.json", {"answer not in document": 671}),
        (f"world_capital={DATA}/world_capital/world_capitals.csv", {"fact": 60020}),
        (f"nq={DATA}/nq/nq-open-oracle-1000.jsonl.gz", {"fact": 947, "no conflicting document": 53}),
    ],
    ids=lambda v: v.partition("=")[2].rpartition("/")[2] if isinstance(v, str) else "",
)
def test_every_record_becomes_a_fact_or_has_its_reason(name, expected):
    assert counted(name) == expected


def test_the_shares_of_the_cloze_relations(prints):
    (section,) = json.loads(prints("datasets", "--datasets", f"counterfact={DATA}/pararel", "--format", "json").out)
    assert section["relations"] == {"P101": 161, "P1376": 55, "P27": 160, "P36": 106, "P495": 160, "P740": 160}
    assert {row["left"] for row in section["regimes"]} == {802}


def test_what_survives_of_fakepedia_in_every_regime_is_printed(prints):
    (section,) = json.loads(prints("datasets", "--datasets", FAKEPEDIA, "--format", "json").out)
    rows = {row["regime"]: row for row in section["regimes"]}
    assert rows["conflicting"]["dropped"] == {"memory answer in document": 97, "answer not in document": 9}
    assert rows["conflicting"]["left"] == 735
    assert 700 < rows["conflicting"]["context_characters"]["mean"] < 800
    # Nearly all double conflicts are natural: another paragraph of the same subject and relation.
    assert rows["double_conflicting"]["shipped"] > 50 * rows["double_conflicting"]["substituted"]
    for regime in ("double_conflicting", "mixed"):
        assert rows[regime]["left"] == rows[f"{regime}_swap"]["left"]


def test_the_context_of_world_capital_has_the_papers_length(prints):
    name = f"world_capital={DATA}/world_capital/world_capitals.csv"
    (section,) = json.loads(prints("datasets", "--datasets", name, "--regimes", "conflicting", "--format", "json").out)
    assert section["regimes"][0]["context_characters"]["mean"] == pytest.approx(38, abs=1)
