#!/bin/sh
# Packs the release build, manual pages, completions, the systemd unit and the scenarios into
# out/slowhand-VERSION-MACHINE.tar.gz.
set -eu
cd "$(dirname "$0")/.."

cargo build --release --locked --package slowhand
built=${CARGO_TARGET_DIR:-target}/release/slowhand
version=$("$built" --version | cut -d ' ' -f 2)
name=slowhand-$version-$(uname -m)

mkdir -p out
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/$name
install -D -m 755 "$built" "$root/bin/slowhand"
"$root/bin/slowhand" man "$root/share/man/man1"
mkdir -p "$root/share/bash-completion/completions" "$root/share/zsh/site-functions" "$root/share/fish/vendor_completions.d"
"$root/bin/slowhand" completions bash >"$root/share/bash-completion/completions/slowhand"
"$root/bin/slowhand" completions zsh >"$root/share/zsh/site-functions/_slowhand"
"$root/bin/slowhand" completions fish >"$root/share/fish/vendor_completions.d/slowhand.fish"
install -D -m 644 dist/slowhand.service "$root/lib/systemd/system/slowhand.service"
mkdir -p "$root/share/slowhand"
cp -R scenarios "$root/share/slowhand/"
cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$root/"
tar -C "$stage" -czf "out/$name.tar.gz" "$name"
echo "out/$name.tar.gz"
