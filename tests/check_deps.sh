#!/usr/bin/env bash
# scripts/install-deps on machines made of a PATH: what is missing, what is installed, what is only said. About 2 s.
set -eu
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bin=$scratch/bin
checks=0
fail() { echo "check_deps: $*" && cat "$scratch/output" && exit 1; }

# A machine that has nothing but a shell and the tools of its base system; `add` gives it more.
machine() {
    rm -rf "$bin" && mkdir "$bin"
    for tool in sh cat grep sed sort tr mktemp rm env find true; do ln -s "$(type -P $tool)" "$bin/$tool"; done
}
add() { printf '#!/bin/sh\n%s\n' "$2" >"$bin/$1" && chmod +x "$bin/$1"; }
# An apt-get that writes down its arguments, and makes a command of each package that it installs.
add_apt() {
    add apt-get 'echo "$*" >>"'"$scratch"'/asked"
case $1 in install) for p; do case $p in [a-z]*) printf "#!/bin/sh\nexit 0\n" >"'"$bin"'/$p"; esac; done; '"$1"';; esac'
}
deps() {
    : >"$scratch/asked"
    code=0
    env -i PATH="$bin" sh scripts/install-deps "$@" >"$scratch/output" 2>&1 || code=$?
    checks=$((checks + 1))
}
says() { grep -q -- "$1" "$scratch/output" || fail "does not say '$1'"; }
asked() { grep -qx -- "$1" "$scratch/asked" || { cat "$scratch/asked" && fail "did not ask apt-get: $1"; }; }

machine && add id 'echo 1000' && add_apt ':' && add sudo 'exit 1'
deps build
[ $code = 1 ] && [ ! -s "$scratch/asked" ] || fail "without root: exit code $code"
says '^    sudo apt-get update && sudo apt-get install -y --no-install-recommends bison flex gcc libc6-dev make$'
rm "$bin/sudo"
deps demo
says "^    su -c 'apt-get update && apt-get install -y --no-install-recommends bison flex gcc libc6-dev make'$"
deps test
says 'libcmocka-dev.*python3.*qemu-user-static'

# As root; cc comes with the package gcc.
machine && add id 'echo 0' && add_apt "$(command -v ln) -sf '$bin/gcc' '$bin/cc'; $(command -v chmod) +x '$bin'/*"
deps build --check
[ $code = 1 ] && [ ! -s "$scratch/asked" ] || fail "--check installs, or exits with $code"
says '^    apt-get update && apt-get install'
deps build
[ $code = 0 ] || fail "as root: exit code $code"
asked 'install -y --no-install-recommends --no-remove -q -o DPkg::Lock::Timeout=120 bison flex gcc libc6-dev make'
deps build
[ $code = 0 ] && [ ! -s "$scratch/asked" ] || fail "installs twice"

# A sudo that asks for no password; and an installation that fails.
machine && add id 'echo 1000' && add_apt 'exit 100' && add sudo 'shift; exec "$@"'
deps build
[ $code = 1 ] || fail "a failed installation: exit code $code"
says 'could not be installed'
asked 'update -q -o DPkg::Lock::Timeout=120'

# Another system.
machine && add id 'echo 1000' && add dnf ':' && add sudo ':'
deps build
[ $code = 1 ] || fail "Fedora: exit code $code"
says '^    sudo dnf install -y bison flex gcc glibc-devel make$'
echo "$checks machines"
