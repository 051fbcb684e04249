#!/bin/sh
# Packs the release build, as `make install` lays it out below /usr/local, into
# out/slowhand-VERSION-MACHINE.tar.gz.
set -eu
cd "$(dirname "$0")/.."

version=$("${CARGO_TARGET_DIR:-target}/release/slowhand" --version | cut -d ' ' -f 2)
name=slowhand-$version-$(uname -m)

mkdir -p out
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
DESTDIR=$stage/tree prefix=/usr/local scripts/install.sh install
mv "$stage/tree/usr/local" "$stage/$name"
tar -C "$stage" --owner=0 --group=0 -czf "out/$name.tar.gz" "$name"
echo "out/$name.tar.gz"
