# The two commands of the README, and what they are made of. Nothing has to be installed by hand.

VENV := .venv
PYTHON ?= python3
PIP := $(VENV)/bin/python -m pip install --quiet --disable-pip-version-check
export HF_HUB_OFFLINE ?= 1
# Two processes with a thread each take half the time of one with two; a file's tests share what they set up. In the order of
# their names the last files are small, so that both processes end at nearly the same time. Lint goes on beside them.
TESTS := PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder
LINT_AND_TESTS := --no-print-directory -j 2 lint tests

MINUTES ?= 10

.PHONY: run test test-all check tests fuzz install browser lint screenshots demo-report clean

run: $(VENV)/.run  ## open the explorer
	$(VENV)/bin/streamlit run app.py

test: install browser  ## every check but those of demo/ and benchmarks/, and those that need all of the bundled results
	@$(MAKE) $(LINT_AND_TESTS) CHOSEN='-m "not demo"'

test-all: install browser  ## those too: once at an issue's end
	@$(MAKE) $(LINT_AND_TESTS)

check: install  ## without slow tests and the browser
	@$(MAKE) $(LINT_AND_TESTS) CHOSEN='-m "not slow and not browser and not demo" -x'

tests: install
	$(TESTS) $(CHOSEN)

fuzz: install  ## randomised tests with new examples each time, until MINUTES=10 are over or one fails
	@end=$$(( $$(date +%s) + 60 * $(MINUTES) )); while [ $$(date +%s) -lt $$end ]; do \
	  $(TESTS) -x -m "hypothesis and not demo" --hypothesis-profile fuzz $$(grep -rl "^from hypothesis" tests --include="test_*.py") \
	  || exit 1; done

install: $(VENV)/.dev

lint: install
	$(VENV)/bin/ruff format --check --quiet .
	$(VENV)/bin/ruff check --quiet .
	$(VENV)/bin/mypy --no-error-summary

screenshots: install browser  ## docs/screenshots, from the demo results
	$(VENV)/bin/python -m tests.e2e.screenshots

demo-report: install  ## docs/demo-report.html, from the demo results
	$(VENV)/bin/python -m demo report

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV) || (rm -rf $(VENV); [ "$$(id -u)" = 0 ] && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV))

# torch comes first and by its exact version: any other way of asking may bring another build.
$(VENV)/.run: requirements.txt | $(VENV)/bin/python
	$(PIP) $$(grep '^torch==' requirements.txt)
	$(PIP) -r requirements.txt
	$(VENV)/bin/python -m precompute models add smollm2 >/dev/null || \
	  echo "the real model SmolLM2 cannot be installed here: the explorer starts without it"
	touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.run
	$(PIP) -r requirements-dev.txt
	touch $@

# The browser tests skip, with the reason, where Chromium can neither be found nor installed.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get update -qq && \
	    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-noto-core fonts-noto-color-emoji >/dev/null; } || \
	  echo "no Chromium here, and it cannot be installed: browser tests will be skipped"

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache cache/tests
