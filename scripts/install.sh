#!/bin/sh
# Installs the programs, manual pages, completions, the systemd units, documents and scenarios, or removes
# them. `make dist` and `make deb` pack what this script installs.
#
#   scripts/install.sh install
#   scripts/install.sh uninstall
#
# The variables below follow the GNU conventions. Without DESTDIR, `uninstall` also ends the daemon.
set -eu
cd "$(dirname "$0")/.."

: "${DESTDIR:=}"
: "${prefix:=${PREFIX:-/usr/local}}"
: "${bindir:=$prefix/bin}"
: "${datadir:=$prefix/share}"
: "${mandir:=$datadir/man}"
: "${docdir:=$datadir/doc/slowhand}"
: "${unitdir:=$prefix/lib/systemd/system}"
: "${bashdir:=$datadir/bash-completion/completions}"
: "${zshdir:=$datadir/zsh/site-functions}"
: "${fishdir:=$datadir/fish/vendor_completions.d}"
# Where the built programs are, and one of them that runs on this machine.
: "${BUILT:=${CARGO_TARGET_DIR:-target}/release}"
: "${RUNS_HERE:=$BUILT/slowhand}"

say() { printf '%s\n' "$*" >&2; }

for program in "$BUILT/slowhand" "$BUILT/slowhandd" "$BUILT/slowhand-relay" "$RUNS_HERE"; do
    if [ ! -x "$program" ]; then
        say "install: $program is missing; run \`make build\` first, as an ordinary user"
        exit 1
    fi
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/tree

# file MODE DIRECTORY FILE...: copies files below the stage.
file() {
    mode=$1 directory=$stage$2
    shift 2
    mkdir -p "$directory"
    install -m "$mode" "$@" "$directory/"
}

# The whole tree, in one place: what is installed, packed and removed.
lay_out() {
    file 755 "$bindir" "$BUILT/slowhand" "$BUILT/slowhandd" "$BUILT/slowhand-relay"
    "$RUNS_HERE" man "$work/man"
    for page in "$work/man"/*; do
        file 644 "$mandir/man${page##*.}" "$page"
    done
    mkdir -p "$stage$bashdir" "$stage$zshdir" "$stage$fishdir"
    for program in slowhand slowhandd slowhand-relay; do
        "$RUNS_HERE" completions bash "$program" >"$stage$bashdir/$program"
        "$RUNS_HERE" completions zsh "$program" >"$stage$zshdir/_$program"
        "$RUNS_HERE" completions fish "$program" >"$stage$fishdir/$program.fish"
    done
    mkdir -p "$stage$unitdir"
    for unit in slowhand.service slowhand-relay.service; do
        sed "s,/usr/bin/,$bindir/," "dist/$unit" >"$stage$unitdir/$unit"
    done
    mkdir -p "$stage$datadir/slowhand"
    cp -R scenarios "$stage$datadir/slowhand/"
    file 644 "$docdir" README.md CHANGELOG.md SECURITY.md LICENSE-MIT LICENSE-APACHE
    mkdir -p "$stage$docdir/examples"
    # `slowhand up --help` indents this text.
    sed 's/^  //' crates/host/src/config/example.toml >"$stage$docdir/examples/slowhand.toml"
    chmod -R u=rwX,go=rX "$stage"
}

# Every file of the tree, without the stage.
files() { (cd "$stage" && find . -type f | sed 's/^\.//'); }

put() {
    files | while IFS= read -r path; do
        mode=644
        [ ! -x "$stage$path" ] || mode=755
        install -D -m "$mode" "$stage$path" "$DESTDIR$path"
    done
}

take_away() {
    if [ -z "$DESTDIR" ]; then
        for unit in slowhand.service slowhand-relay.service; do
            if [ -d /run/systemd/system ] && [ -e "$unitdir/$unit" ]; then
                systemctl disable --now --quiet "$unit"
            fi
        done
        # Ends a daemon that was started by hand, and undoes what a killed one left.
        if [ -e /run/slowhand/lock ] || [ -e /var/lib/slowhand/journal ]; then
            "$RUNS_HERE" down
        fi
    fi
    files | while IFS= read -r path; do rm -f "$DESTDIR$path"; done
    for directory in "$datadir/slowhand" "$docdir"; do
        [ ! -d "$DESTDIR$directory" ] || find "$DESTDIR$directory" -depth -type d -empty -delete
    done
}

# The service manager of this host learns of the unit.
reload() {
    if [ -z "$DESTDIR" ] && [ -d /run/systemd/system ]; then
        systemctl daemon-reload
    fi
}

case ${1:-} in
install) lay_out && put && reload ;;
uninstall) lay_out && take_away && reload ;;
*)
    say "usage: scripts/install.sh install|uninstall"
    exit 2
    ;;
esac
