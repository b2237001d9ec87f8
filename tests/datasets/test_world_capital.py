"""World Capital: the own table, and the published one."""

from __future__ import annotations

from pathlib import Path

from heval_core.datasets import world_capital
from heval_core.protocols import Dataset
from tests.datasets import samples


def sample(data: Path) -> Dataset:
    return world_capital.PLUGIN  # its table comes along


def test_world_capital_reads_the_published_table(tmp_path):
    rows = [[c, city, "countryCapital"] for c, city in samples.CITIES.items()]
    rows += [["Bolivia", "Sucre", "x"], ["Bolivia", "La Paz", "x"], ["Nowhere", "", "x"]]
    path = samples.write_csv(tmp_path / "w.csv", ["country", "capital", "type"], rows)
    facts, bad, _ = samples.sorted_out(world_capital.WorldCapital(str(path)))
    assert len(facts) == 6 * 7 + 6
    assert [record.place for record in bad] == ["w.csv:10"]
    bolivia = [fact for fact in facts if fact.subject == "Bolivia"]
    assert {fact.answer for fact in bolivia} == {"Sucre"}
    assert not {"Sucre", "La Paz"} & {fact.conflicting[0].answer for fact in bolivia}
