#!/usr/bin/env bash
# The Korean README, and the questions of the notes: translated, looked into, trained, asked. From an empty folder.
. "$(dirname "$0")/way.sh"
export JUMOK_LANG=ko
STARTED=$(date +%s%N)

# 설치하자마자
KIND="번역"
jumok translate ko-en "넌 누구니?"
says "Who are you?"
answered
jumok translate en-ko "I like you"
jumok translate ko-en "나는 책을 산다" --n-best 3
jumok look ko-en "넌 누구니?" --words
jumok look ko-en "넌 누구니?" --html 페이지.html
jumok look ko-en "넌 누구니?" --importance
has 페이지.html
jumok --help
says "학습"

# 날짜: 어텐션은 어디를 보는가
KIND="날짜" COUNT=0 STARTED=$(date +%s%N)
jumok train dates-transformer --out runs/dates
jumok translate runs/dates "2026년 11월 15일 일요일"
answered
jumok evaluate runs/dates --split test
jumok look runs/dates "2026년 11월 15일 일요일"
jumok look runs/dates --film

# 고정된 문맥 벡터와 어텐션
jumok train dates-seq2seq --out runs/seq2seq
jumok train dates-seq2seq-mlp --out runs/attention
jumok compare runs/seq2seq runs/attention
jumok look runs/attention "2026년 11월 15일"

# 이미지
KIND="이미지" COUNT=0 STARTED=$(date +%s%N)
jumok train shapes-vit
jumok sample shapes 이미지.png
jumok classify runs/shapes-vit 이미지.png
answered
jumok look runs/shapes-vit 이미지.png --png heat.png
has heat.png

# 내 문장으로
KIND="내 문장" COUNT=0
jumok sample phrasebook 문장.tsv --number 400
STARTED=$(date +%s%N)
jumok new 문장.tsv
jumok check 문장.toml
jumok train 문장.toml
jumok translate runs/문장 "Hello."
answered
table
