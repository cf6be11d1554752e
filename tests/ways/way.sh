# What the ways share: a folder of their own, `jumok` that is counted, and a table at the end. To be sourced.
#   JUMOK  the command (default: jumok)    QUICK  options for train, to take few steps    PYTHON  (default: python)
set -euo pipefail
JUMOK=${JUMOK:-jumok} PYTHON=${PYTHON:-python} QUICK=${QUICK:-}
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TABLE="" KIND="" COUNT=0

# Type a command; it must succeed and say something.
jumok() {
    COUNT=$((COUNT + 1))
    echo "\$ jumok $*" >&2
    if [ "$1" = train ]; then set -- "$@" $QUICK; fi
    local said
    said=$($JUMOK "$@") || { echo "FAILED: jumok $*" >&2; exit 1; }
    [ -n "$said" ] || { echo "FAILED: jumok $* said nothing" >&2; exit 1; }
    SAID=$said
}

# Begin with a kind of data: an empty folder with that data in it, and the clock started.
begin() {
    KIND=$1 COUNT=0
    mkdir "$KIND" && cd "$KIND"
    PYTHONPATH="$HERE/..${PYTHONPATH:+:$PYTHONPATH}" $PYTHON -c \
        "import pathlib, cli.data_of_ones_own as own; getattr(own, '$KIND')(pathlib.Path())" 2>/dev/null
    STARTED=$(date +%s%N)
}

# The first answer is there: keep how many commands and seconds it took.
answered() {
    local milliseconds=$((($(date +%s%N) - STARTED) / 1000000))
    TABLE+=$(printf '%-16s %8d %9d.%d' "$KIND" "$COUNT" $((milliseconds / 1000)) $((milliseconds / 100 % 10)))$'\n'
}

# What a command said last must hold a text.
says() {
    case $SAID in *"$1"*) ;; *) echo "FAILED: expected '$1' in: $SAID" >&2; exit 1 ;; esac
}

# What must be there.
has() {
    for file in "$@"; do [ -s "$file" ] || { echo "FAILED: there is no $file" >&2; exit 1; }; done
}

table() {
    printf '%-16s %8s %11s\n%s' "data" "commands" "seconds" "$TABLE"
}
