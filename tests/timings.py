"""How long each file of tests takes: the thirty slowest tests are listed, a file above a minute is named, and one above one
and a half fails the run: another processor, or one that is shared, takes half as long again. Processor seconds count, of the
process and of all that it started and waited for: seconds on a clock would say how busy the machine is. What a session shares
is no test's, nor what ends with the session; tests marked `demo` or `real` have no limit."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest

LIMIT, FAILS, LISTED = 60, 90, 30


class Timings:
    """A plug-in of pytest: its reports travel from the processes that run tests to the one that adds them up."""

    def __init__(self) -> None:
        self.before = _spent()
        self.shared = 0.0
        self.ends = False
        self.tests: Counter[str] = Counter()
        self.files: Counter[str] = Counter()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        self.ends = nextitem is None

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef) -> Iterator[None]:
        before, shared = _spent(), self.shared
        made = yield
        if fixturedef.scope == "session":
            self.shared = shared + _spent() - before  # with whatever it asked for itself
        return made

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
        report = yield
        now = _spent()
        of_session = self.ends and call.when == "teardown"
        own = now - self.before - self.shared
        report.processor_seconds = 0.0 if of_session or any(map(item.get_closest_marker, ("demo", "real"))) else own
        self.before, self.shared = now, 0.0
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tests[report.nodeid] += report.processor_seconds
        self.files[report.nodeid.partition("::")[0]] += report.processor_seconds

    def slow_files(self, limit: int = LIMIT) -> dict[str, float]:
        return {name: seconds for name, seconds in self.files.items() if seconds > limit}

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.slow_files(FAILS) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section(f"the {LISTED} slowest tests, in processor seconds")
        for name, seconds in self.tests.most_common(LISTED):
            terminalreporter.write_line(f"{seconds:6.1f}  {name}")
        for name, seconds in self.slow_files().items():
            terminalreporter.write_line(f"SLOW  {name} takes {seconds:.0f} s; a file of tests may take {LIMIT}", red=True)


def _spent() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
