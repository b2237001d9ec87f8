"""A report on paper, in a real browser: its figures are there, black on white, and it has few pages."""

import re
import zlib

import pytest

from tests.e2e.browser import IN_A_BROWSER, launched, page_of

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def file(report, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(report.as_html(), encoding="utf-8")
    return path


def pages_of(pdf):
    return len(re.findall(rb"/Type\s*/Page\b", pdf))


def drawn_in(pdf):
    """How many shapes are filled or stroked in the page descriptions."""
    found = 0
    for packed in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.S):
        try:
            text = zlib.decompress(packed)
        except zlib.error:
            continue
        found += len(re.findall(rb"\n(?:f|f\*|S|B)\n", text))
    return found


@pytest.mark.parametrize("dark", [False, True])
def test_a_printed_report_has_its_figures(file, report, browser, dark):
    with page_of(browser, dark=dark) as page:
        page.goto(file.as_uri())
        shapes = page.locator("circle, path, rect, line").count()
        pdf = page.pdf(prefer_css_page_size=True, print_background=False)
        assert page.locator("details.section[open]").count() == 0  # folded again
        page.emulate_media(media="print")
        assert page.evaluate("getComputedStyle(document.querySelector('h1')).color") == "rgb(0, 0, 0)"
        assert page.evaluate("getComputedStyle(document.querySelector('svg text.title')).fill") == "rgb(0, 0, 0)"
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert 10 <= pages_of(pdf) <= 55
    assert drawn_in(pdf) > 0.7 * shapes  # whiskers of no length are left out


def test_the_findings_are_above_the_fold_and_the_file_is_a_few_screens(file, browser):
    with page_of(browser) as page:
        page.goto(file.as_uri())
        last = page.locator(".forest").first.locator(".finding").last.bounding_box()
        assert last["y"] + last["height"] <= 800
        # Three studies: findings of each, and their sections folded.
        assert page.evaluate("document.documentElement.scrollHeight") <= 5 * 800
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_every_row_has_the_same_axis(file, report, browser):
    """The dashed limits of all rows and of the axis are one upright line: one for each table of sentences."""
    with page_of(browser) as page:
        page.goto(file.as_uri())
        stated = filter(len, (study.findings for study in report.studies))
        for table, findings in zip(page.locator(".forest").all(), stated, strict=True):
            limits = table.evaluate("own => [...own.querySelectorAll('.limit')].map(l => l.getBoundingClientRect().x)")
            assert max(limits) - min(limits) < 0.6
            assert len(limits) == len(findings) + 1


@pytest.mark.parametrize("width", [900, 1280])
def test_nothing_of_an_open_row_is_cut_off(file, browser, width):
    with page_of(browser, width=width) as page:
        page.goto(file.as_uri())
        page.locator(".finding summary").first.click()
        assert page.locator(".finding .more").first.is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
