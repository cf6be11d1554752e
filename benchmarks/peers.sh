#!/bin/sh
# Make benchmarks/.peers, the environment of the toolkits that jumok is measured against: sh benchmarks/peers.sh
#
# It is apart from .venv because the peers want other versions of the same libraries. Their own lists of needs would
# bring an older torch (OpenNMT-py: below 2.3) and much that training does not use, so they are installed without
# them, and what they do import is named here. constraints.txt holds torch at the version that jumok is tested with.
# Takes about a minute and 1.4 GB; does nothing where it has been made from this same file.
set -eu

cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-.venv/bin/python}
PEERS=benchmarks/.peers
STAMP=$PEERS/$(cat benchmarks/peers.sh constraints.txt | cksum | tr ' ' '-').made
LOG=$PEERS/install.log
export PIP_CONSTRAINT="$PWD/constraints.txt"

install() {
    "$PEERS/bin/python" -m pip install --disable-pip-version-check "$@" >>"$LOG" 2>&1 ||
        { tail -n 20 "$LOG" >&2; echo "$0: pip install $* failed; all it said is in $LOG" >&2; exit 1; }
}

test -e "$STAMP" && exit 0
test -x "$PYTHON" || { echo "$0: $PYTHON is missing; run make .venv/.run, or name a Python 3.11: PYTHON=…" >&2; exit 1; }
echo "making $PEERS …"
"$PYTHON" -m venv --clear "$PEERS"

install torch==2.13.0 "numpy>=2"
install --no-deps OpenNMT-py==3.5.1 joeynmt==2.3.0 eole==0.6.4
# OpenNMT-py; fasttext and spacy, which it also imports, serve text filters that training does not use: see train_opennmt.py
install configargparse pyyaml sacrebleu six tensorboard "pyonmttok>=1.37,<2" pyahocorasick rapidfuzz
# JoeyNMT
install importlib-metadata matplotlib packaging pandas plotly sentencepiece "setuptools<81" subword-nmt tqdm
# eole; what else it imports is named above, or comes with transformers (huggingface-hub, safetensors, tokenizers)
install pydantic
install transformers==5.22.2 ctranslate2==4.8.4 x-transformers

"$PEERS/bin/python" -c "import torch; assert torch.__version__.startswith('2.13.0'), torch.__version__"
touch "$STAMP"
