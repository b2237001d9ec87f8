"""The report: its numbers are the pages', its bytes are the store's, and what a store lacks is said."""

import json
import re
from html import unescape

import pandas as pd
import pytest

from heval_core.evaluation.patterns import patterns_under
from heval_core.figures.pattern_panels import pattern_table
from heval_core.present.names import names_of
from heval_core.present.numbers import EXACT, interval
from heval_core.report.findings import StudyFindings, findings_table, studies_of
from heval_core.report.sections import plans, plans_of, section
from heval_core.report.write import Report, report_of, write
from heval_core.store.filters import Filter
from heval_core.ui.measured_cells import measured
from tests.conftest import ROOT
from tests.pages.opening import html_of, open_page
from tests.planted import marking, noise, plant, published
from tests.report.conftest import rows_of, section_in

PLACE = ["model", "dataset", "regime", "part", "explainer"]


@pytest.fixture(scope="module")
def told(report):
    """What `results.json` of a few cells holds."""
    return json.loads(report.as_json())


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan",
    [plan for plan in plans().values() if any(own.needs != "--sources" for own in plan.measures)],
    ids=lambda plan: plan.key,
)
def test_every_number_of_a_section_is_what_its_page_shows(few, told, plan):
    rows = rows_of(told, plan.key)
    assert len(rows)
    for measure in plan.measures:
        for k in plan.ks if measure.uses_k else (0,):
            own = rows[(rows["measure"] == measure.title) & (rows["k"] == k)].set_index(PLACE)
            if measure.variant_of and own.empty:
                continue  # not every store has the variants
            shown = measured(few, Filter(), measure, measure.metric, k).cells.set_index(PLACE)
            assert set(own.index) == set(shown.index)
            for column in ("value", "low", "high", "chance", "normalised", "p", "n"):
                found, expected = (frame.loc[own.index, column].astype(float).to_numpy() for frame in (own, shown))
                assert found == pytest.approx(expected, nan_ok=True), column


@pytest.mark.slow
def test_headline_patterns_instances_and_findings_are_what_their_pages_show(few, told, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(few.path.parent))
    same(few.headline(), pd.DataFrame(told["headline"]), ("value", "low", "high", "chance", "cells", "n"))
    failures = open_page("leaderboard", tab="failures")
    counts = patterns_under(few, Filter())
    same(counts, rows_of(told, "patterns"), ("instances", "share"))
    shown = pattern_table(patterns_under(few, Filter(technique=("regular",), explained=True)), names_of(few)).html()
    assert shown in html_of(failures)
    datasets = open_page("about", tab="data")
    shown = next(frame.value for frame in datasets.dataframe if "kept" in frame.value.columns)
    same(shown, rows_of(told, "datasets"), ("asked", "kept", "C", "M", "C1", "C2"))
    report = open_page("about")
    # Of models with a taught rule the page shows no verdicts.
    assert any("no evidence for or against" in m.value for m in report.markdown)


def test_the_paper_stands_beside_the_results_and_models_with_a_taught_rule(few):
    about = studies_of(few)[0]
    table = findings_table(about, about, "these")
    own = ["verdict", "what decides it", "the paper", "here: these"]
    assert [head.title for head in table.heads] == [*own, "models with a taught rule"]
    for row, found in zip(table.rows, about.rows, strict=True):
        assert row.titles == (found.finding["sentence"],)
        verdict = f"{found.sign} {found.finding['verdict']}"
        said = [verdict, found.effect, found.reported, found.number, f"{verdict}, {found.number}"]
        assert [cell.text for cell in row.cells] == said
    assert [head.title for head in findings_table(about, None, "these").heads] == own


def words_of(page):
    """The text of a page's cells, without tags."""
    return {re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)}


def same(shown, own, columns):
    """Every one of these columns of a page's table is the report's, rounded as pages round."""
    assert len(shown) == len(own)
    for column in columns:
        found = pd.to_numeric(own[column]).astype(float).round(3)
        assert pd.to_numeric(shown[column]).astype(float).round(3).tolist() == pytest.approx(found.tolist(), nan_ok=True), (
            column
        )


@pytest.mark.slow
def test_the_page_shows_the_section_that_is_asked_for_with_its_table(few, monkeypatch):
    monkeypatch.setenv("HEVAL_STORE", str(few.path.parent))
    app = open_page("about", section=plans()["instance_margins"].heading)
    expected = section(few, "instance_margins").shown
    assert len(expected) == 2  # the means, and every cell
    for table in expected:
        assert any(frame.value.equals(table.frame()) for frame in app.dataframe)


@pytest.mark.slow
def test_every_section_has_a_place_in_the_paper(few, report):
    assert [own.plan.key for own in report.sections] == list(plans_of(few))
    assert all(own.plan.paper and own.text for own in report.sections)


@pytest.mark.slow
def test_the_html_holds_the_numbers_of_the_json(report, told):
    page = report.as_html()
    cells = {cell.replace("†", "") for cell in words_of(page)}  # what is right by construction
    for own in told["sections"]:
        for row in own["rows"]:
            if "explainer" in row and row.get("value") is not None and row.get("low") is not None:
                written = interval(row["value"], row["low"], row["high"], EXACT)
                assert written in cells or any(cell.startswith(written) for cell in cells)
    assert len(told["findings"]) == 11
    assert page.count('<span class="verdict') == 11 + len(told["technique_findings"]) + len(told.get("citation_findings", ()))


_NUMBER = re.compile(r"[−-]?\d+\.\d+(?:e-?\d+)?")


def all_but_rounding(one, other):
    """Whether two texts are the same but for numbers that differ in the last digit they are written with. On another kind of
    processor matrix products add up in another order."""
    numbers = [[float(found.replace("−", "-")) for found in _NUMBER.findall(text)] for text in (one, other)]
    return _NUMBER.sub("#", one) == _NUMBER.sub("#", other) and numbers[0] == pytest.approx(numbers[1], rel=1e-3, abs=1.5e-3)


def visible(page):
    """What is read of a page, with its tags; white space between these, and how a quote is escaped, are no part of it."""
    body = re.search(r"<main>.*</main>", page, re.S)[0]
    return unescape(re.sub(r"\s*(<[^>]*>)\s*", r"\1", re.sub(r"\s+", " ", body)))


draw = marking(lambda instance, explainer: 2 if explainer == "fa" else 0)


def test_what_a_small_store_does_not_have_is_said(plain_report, written_plain, tmp_path):
    text = plain_report.as_html()
    assert "These results hold one model, made-up-0" in text
    assert "These results hold one dataset, data-0" in text
    assert "Not compared at any of the three questions: mechlight, attn." in text
    assert section_in(plain_report, "instance_margins").gaps == ("Not in these results: Double conflicting, Mixed.",)
    assert section_in(plain_report, "group_margins").gaps == ("Not in these results: Irrelevant.",)
    assert "--faithfulness" in section_in(plain_report, "faithfulness").gaps[0]
    findings = plain_report.studies[0].findings
    assert len(findings) == 11
    assert set(findings["verdict"]) == {"not enough data"}
    written_plain(tmp_path)
    json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    table = (tmp_path / "tables" / "group_margins.tex").read_text(encoding="utf-8")
    assert "% Not in these results: Irrelevant." in table
    assert r"Explainer & Conflicting & below chance \\" in table
    assert "Lexical match & " in table.split("\\midrule")[2]  # controls below a rule


def test_without_a_study_nothing_of_it_is_there(plain, plain_report):
    assert [own.plan.key for own in plain_report.sections] == [*plans()]
    assert not {"technique_findings", "citation_findings"} & json.loads(plain_report.as_json()).keys()
    page = plain_report.as_html()
    words = ("technique-findings", "techniques_", "Hagström", "citation-findings", "citations_", "Xing", "Annotators")
    assert not [word for word in words if word in page]


@pytest.mark.slow
def test_a_store_of_one_instance_is_reported(tmp_path):
    plant(tmp_path, draw, regimes=("conflicting", "mixed"), count=1)
    out = tmp_path / "out"
    published(tmp_path)
    write(tmp_path, out)
    told = json.loads((out / "results.json").read_text(encoding="utf-8"))
    assert {row["verdict"] for row in told["findings"]} == {"not enough data"}
    gaps = next(own["gaps"] for own in told["sections"] if own["key"] == "group_margins")
    assert any("Not available in" in gap for gap in gaps)
    assert '<details class="finding"' in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_cell_with_one_group_only_says_why_it_has_no_margin(tmp_path):
    plant(tmp_path, noise, regimes=("conflicting",), count=60, change=lambda instance: instance | {"group": "C"})
    report = report_of(published(tmp_path))
    (gap, *_) = [gap for gap in section_in(report, "group_margins").gaps if gap.startswith("Not available")]
    assert "1 cell" in gap
    assert "M" in gap


def test_an_unwritable_folder_and_an_unpublished_store_are_one_line(plain, written_plain, tmp_path, prints):
    written_plain(tmp_path / "before")
    (tmp_path / "taken").write_text("a file")
    for store, out, told in (
        (plain.path.parent, "taken", "taken cannot be written"),
        (tmp_path, "out", "Nothing is published"),
    ):
        (error,) = prints("report", "--store", store, "--out", tmp_path / out, ends=2).err.strip().splitlines()
        assert told in error


HOSTILE = "<script>window.__pwn=1</script><img src=x onerror=alert(1)>$\\input{x}"


@pytest.mark.slow
def test_text_from_data_is_never_markup_nor_a_command_and_a_folder_holds_what_the_newest_report_gave(written_plain, tmp_path):
    plant(tmp_path, draw, count=100, named=HOSTILE, regimes=("conflicting", "double_conflicting"), explainers=("fa", "ig"))
    published(tmp_path)
    (tmp_path / "out" / "figures").mkdir(parents=True)
    (tmp_path / "out" / "figures" / "mrr-9.svg").write_text("an earlier one")
    write(tmp_path, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "<img" not in page
    assert page.count("<script") == 1  # what opens the sections on paper
    assert page.count("window.__pwn") > 20
    for table in (tmp_path / "out" / "tables").glob("*.tex"):
        lines = table.read_text(encoding="utf-8").splitlines()
        text = "\n".join(line for line in lines if not line.startswith("%"))
        assert "\\input" not in text
        if HOSTILE[1:7] in text:
            assert "\\textbackslash" in text
    assert json.loads((tmp_path / "out" / "results.json").read_text(encoding="utf-8"))["findings"]
    first = {path.name for path in (tmp_path / "out").rglob("*.*")}
    assert {"group_margins-1.svg", "instance_margins-1.svg", "instance_margins.tex"} <= first
    written_plain(tmp_path / "out")
    left = {path.name for path in (tmp_path / "out").rglob("*.*")}
    assert {"group_margins-1.svg", "group_margins.tex"} <= left
    assert not {"mrr-9.svg", "instance_margins-1.svg", "instance_margins.tex"} & left


def test_every_text_of_a_finding_is_escaped():
    effect = {"label": HOSTILE, "value": 1.0, "low": 0.5, "high": 1.5, "least": 0, "most": None}
    effect |= {"agree": 1, "places": 1, "cells": 1, "n": 10, "strict_low": 0.4, "strict_high": 1.6}
    hostile = dict.fromkeys(("sentence", "published", "reason", "unit", "by_construction"), HOSTILE)
    levels = json.dumps([{**effect, "chance": 0.1, "published": 1.0}])
    row = {"key": "k", **hostile, "verdict": "supported", "effects": json.dumps([effect]), "levels": levels}
    study = StudyFindings("k", HOSTILE, pd.DataFrame([row]), {"k": HOSTILE})
    provenance = (("models", pd.DataFrame({"model": [HOSTILE]})), (HOSTILE, pd.DataFrame({HOSTILE: [HOSTILE, None]})))
    page = Report(HOSTILE, HOSTILE, (study, study, study), pd.DataFrame(), (), provenance, (HOSTILE,)).as_html()
    assert "<img" not in page
    assert page.count("<script") == 1
    table = findings_table(study, study, HOSTILE).html()
    assert "<img" not in table
    assert "<script" not in table


@pytest.mark.slow
def test_an_explainer_that_failed_somewhere_says_its_own_n(tmp_path):
    plant(
        tmp_path,
        draw,
        count=80,
        regimes=("conflicting",),
        failed=lambda instance, explainer: explainer == "ig" and instance["place"] % 4 == 0,
    )
    reader = published(tmp_path)
    shown = section(reader, "mrr").shown[-1].frame()
    cells = reader.cells(Filter(), "mrr", 0).set_index("explainer")["n"]
    assert shown["instances"].tolist() == [cells["fa"]]
    assert f"n = {cells['ig']}" in shown["ig"][0]
    assert "n = " not in shown["fa"][0]


@pytest.mark.slow
def test_the_committed_report_is_that_of_the_committed_results(demo_reader):
    """Its text and its figures."""
    committed = ROOT / "docs" / "demo-report.html"
    assert committed.stat().st_size <= 6e6
    made = report_of(demo_reader).as_html()
    body, found = (visible(page) for page in (made, committed.read_text(encoding="utf-8")))
    assert all_but_rounding(found, body), "make it again: make demo-report"
