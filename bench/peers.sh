#!/bin/sh
# Puts the peers into a virtual environment: bench/peers.sh PYTHON FOLDER. One that cannot be installed is reported,
# here and in FOLDER/missing, from where it comes onto the page.
set -eu
python=$1 folder=$2
peers='numpy torch maxsim-cpu numkong pykeops opt_einsum pytblis sesum faiss-cpu'
[ -x "$folder/bin/python" ] || "$python" -m venv "$folder"
: > "$folder/missing"
for peer in $peers; do
    "$folder/bin/python" -m pip show -q "$peer" 2>/dev/null && continue
    if "$folder/bin/python" -m pip install -q "$peer" 2> "$folder/error"; then
        echo "installed $peer"
    else
        reason=$(grep -m 1 -i error "$folder/error" || echo 'pip failed')
        echo "cannot install $peer: $reason"
        echo "$peer: $reason" >> "$folder/missing"
    fi
done
