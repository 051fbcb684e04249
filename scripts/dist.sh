#!/bin/sh
# Packs the release build of both programs, manual pages, completions, the systemd unit and the
# scenarios into out/slowhand-VERSION-MACHINE.tar.gz.
set -eu
cd "$(dirname "$0")/.."

cargo build --release --locked --package slowhand --package slowhandd
built=${CARGO_TARGET_DIR:-target}/release
version=$("$built/slowhand" --version | cut -d ' ' -f 2)
name=slowhand-$version-$(uname -m)

mkdir -p out
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/$name
for program in slowhand slowhandd; do
    install -D -m 755 "$built/$program" "$root/bin/$program"
done
"$root/bin/slowhand" man "$root/share/man/man1"
mkdir -p "$root/share/man/man8"
mv "$root/share/man/man1/slowhandd.8" "$root/share/man/man8/"
mkdir -p "$root/share/bash-completion/completions" "$root/share/zsh/site-functions" "$root/share/fish/vendor_completions.d"
for program in slowhand slowhandd; do
    "$root/bin/slowhand" completions bash "$program" >"$root/share/bash-completion/completions/$program"
    "$root/bin/slowhand" completions zsh "$program" >"$root/share/zsh/site-functions/_$program"
    "$root/bin/slowhand" completions fish "$program" >"$root/share/fish/vendor_completions.d/$program.fish"
done
install -D -m 644 dist/slowhand.service "$root/lib/systemd/system/slowhand.service"
mkdir -p "$root/share/slowhand"
cp -R scenarios "$root/share/slowhand/"
cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$root/"
tar -C "$stage" -czf "out/$name.tar.gz" "$name"
echo "out/$name.tar.gz"
