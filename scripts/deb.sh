#!/bin/sh
# Packs a Debian package of what `make install` installs, with cargo-deb: OUT/slowhand_VERSION_ARCH.deb.
#
#   ARCH     amd64 or arm64; left out, this machine's. arm64 on another machine is untested.
#   BUILT    where built programs are; left out, the release build is made and packed
#   VERSION  of the package; left out, the one in Cargo.toml with revision 1
#   OUT      where to; left out, out
set -eu
cd "$(dirname "$0")/.."

: "${ARCH:=$(dpkg --print-architecture)}"
: "${BUILT:=}"
: "${OUT:=out}"
: "${VERSION:=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)-1}"
built=${CARGO_TARGET_DIR:-target}
PATH=$PWD/target/tools/bin:$PATH

case $ARCH in
amd64) triple=x86_64-linux-gnu rust=x86_64-unknown-linux-gnu ;;
arm64) triple=aarch64-linux-gnu rust=aarch64-unknown-linux-gnu ;;
*)
    echo "deb: ARCH=$ARCH: choose amd64 or arm64" >&2
    exit 2
    ;;
esac

programs="--package slowhand --package slowhandd --package relay"
runs_here=
if [ -z "$BUILT" ] && [ "$ARCH" = "$(dpkg --print-architecture)" ]; then
    # shellcheck disable=SC2086 # one word per option
    cargo build --release --locked $programs
    BUILT=$built/release
elif [ -z "$BUILT" ]; then
    # The manual pages and completions come from a build that runs on this machine.
    cargo build --release --locked --package slowhand
    runs_here=$built/release/slowhand
    linker=CARGO_TARGET_$(echo "$rust" | tr 'a-z-' 'A-Z_')_LINKER
    # shellcheck disable=SC2086
    env "$linker=$triple-gcc" "CC_$(echo "$rust" | tr - _)=$triple-gcc" PKG_CONFIG_ALLOW_CROSS=1 \
        PKG_CONFIG_LIBDIR="/usr/lib/$triple/pkgconfig:/usr/share/pkgconfig" \
        cargo build --release --locked --target "$rust" $programs
    BUILT=$built/$rust/release
fi

# cargo-deb takes the tree from this place (crates/cli/Cargo.toml). One run at a time may use it.
tree=out/deb
mkdir -p out "$OUT"
exec 9>out/deb.lock
flock 9
rm -rf "$tree"
trap 'rm -rf "$tree"' EXIT
doc=$tree/usr/share/doc/slowhand
export BUILT
RUNS_HERE=${runs_here:-$BUILT/slowhand} DESTDIR=$tree prefix=/usr \
    zshdir=/usr/share/zsh/vendor-completions scripts/install.sh install
"$triple-strip" --strip-unneeded --remove-section=.comment --remove-section=.note \
    "$tree/usr/bin/slowhand" "$tree/usr/bin/slowhandd" "$tree/usr/bin/slowhand-relay"
# Debian's names for the change log and the licences.
mv "$doc/CHANGELOG.md" "$doc/changelog"
rm "$doc/LICENSE-MIT" "$doc/LICENSE-APACHE"
install -m 644 dist/debian/copyright "$doc/copyright"
maintainer=$(sed -n 's/^maintainer = "\(.*\)"/\1/p' crates/cli/Cargo.toml)
printf 'slowhand (%s) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- %s  %s\n' "$VERSION" \
    "$maintainer" "$(date -R -r CHANGELOG.md)" | gzip -9n >"$doc/changelog.Debian.gz"

cargo deb --quiet --locked --offline --no-build --no-strip --package slowhand --target "$rust" \
    --deb-version "$VERSION" --output "$OUT/slowhand_${VERSION}_$ARCH.deb" "$@"
