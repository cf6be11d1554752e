#!/usr/bin/env bash
# Data of one's own: text files, tables, images, a novel → new, check, train, answer, look. From an empty folder.
#   tests/ways/own_data.sh [KIND …]    prints commands and seconds from data to first answer for each kind
. "$(dirname "$0")/way.sh"

two_files() {
    jumok new talks.en talks.ko
    jumok check talks.en-talks.ko.toml
    jumok train talks.en-talks.ko.toml --out runs/talks
    jumok translate runs/talks "4 0 7"
    answered
    jumok evaluate runs/talks
    jumok look runs/talks "4 0 7"
    jumok look runs/talks "4 0 7" --html look.html
    jumok look runs/talks --film
    has look.html
}

pairs_csv() {
    jumok new pairs.csv
    jumok check pairs.toml
    jumok train pairs.toml
    jumok translate runs/pairs "4 0 7"
    answered
    jumok look runs/pairs "4 0 7" --importance
}

reviews_csv() {
    jumok new reviews.csv
    jumok check reviews.toml
    jumok train reviews.toml
    jumok classify runs/reviews "it was great"
    answered
    jumok evaluate runs/reviews
    jumok look runs/reviews "it was great"
    jumok new reviews.csv --model bert --out bert.toml
    jumok train bert.toml
    jumok look runs/bert "it was great" --html look.html
    has look.html
}

photos() {
    jumok new photos
    jumok check photos.toml
    jumok train photos.toml
    jumok classify runs/photos photos/circle
    answered
    jumok sample shapes image.png
    jumok look runs/photos image.png
    jumok look runs/photos image.png --html look.html
    has look.html
}

photos_csv() {
    jumok new photos.csv
    jumok check photos.toml
    jumok train photos.toml
    jumok classify runs/photos photos/circle
    answered
}

digits_npz() {
    jumok new digits.npz
    jumok check digits.toml
    jumok train digits.toml
    jumok evaluate runs/digits
    answered
}

novel_txt() {
    jumok new novel.txt
    jumok check novel.toml
    jumok train novel.toml
    jumok generate runs/novel "The fox" --max-length 50
    answered
    jumok look runs/novel "The fox"
    jumok new novel.txt --task masked-language-modeling --out masked.toml
    jumok train masked.toml
    jumok fill runs/masked "The fox [MASK] by the sea."
    jumok look runs/masked "The fox [MASK] by the sea."
}

texts() {
    jumok new texts
    jumok check texts.toml
    jumok train texts.toml
    jumok generate runs/texts "The fox" --max-length 50
    answered
}

an_earlier_run() {  # a BERT of transformers, and a table
    jumok import models/bert runs/bert
    jumok new reviews.csv --from runs/bert
    jumok check reviews.toml
    jumok train reviews.toml
    jumok classify runs/reviews "it was great"
    answered
    jumok look runs/reviews "it was great"
}

ALL="two_files pairs_csv reviews_csv photos photos_csv digits_npz novel_txt texts an_earlier_run"
for kind in ${*:-$ALL}; do
    begin "$kind"
    "$kind"
    cd ..
done
table
