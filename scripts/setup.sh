#!/bin/sh
# Installs what is needed to build and test slowhand. Prints nothing if nothing is missing.
#
#   scripts/setup.sh build   packages for building and running
#   scripts/setup.sh deb     these, and what packs a Debian package
#   scripts/setup.sh test    all of these, packages for the tests and benchmarks, and a clean Debian root
set -eu

# The compiler of the BPF programs, and the needs of libbpf. The lab itself runs no external program.
build_packages="clang libelf-dev zlib1g-dev pkg-config make gcc libc6-dev"
# What packs a Debian package.
deb_packages="dpkg-dev binutils xz-utils"
# What builds and runs the virtual machine of the WiFi tests. It downloads the guest's packages itself, into
# target/guest.
guest_packages="qemu-system-x86 kmod zstd libc-bin debian-archive-keyring"
# Real programs whose traffic the tests send over our paths, and a browser to inspect the page. Reference
# implementations for comparison, and the linter of the scripts.
test_packages="nginx-light caddy iperf3 mptcpize curl wget openssh-client openssh-server chromium bpftool haproxy iproute2 nftables procps util-linux mount git shellcheck tshark libbpf-dev python3 wireguard-go wireguard-tools systemd mmdebstrap $guest_packages"

# A fresh machine may still be installing updates, and a mirror may hang.
patiently="-o DPkg::Lock::Timeout=300 -o Acquire::Retries=5"

say() { printf '%s\n' "$*" >&2; }

missing_of() {
    for package in "$@"; do
        state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        [ "$state" = installed ] || printf '%s ' "$package"
    done
}

install() {
    say "setup: installing $*"
    export DEBIAN_FRONTEND=noninteractive
    new_servers=""
    [ -z "$(missing_of nginx-light)" ] || new_servers="nginx.service"
    [ -z "$(missing_of caddy)" ] || new_servers="$new_servers caddy.service"
    [ -z "$(missing_of openssh-server)" ] || new_servers="$new_servers ssh.service"
    # shellcheck disable=SC2048,SC2086 # one word per package and option
    { apt-get $patiently update -q && apt-get $patiently install -y -q --no-install-recommends $*; } </dev/null >&2
    # The tests start servers of their own. Do not leave any that listens on all addresses of this host.
    if [ -d /run/systemd/system ]; then
        for server in $new_servers; do
            systemctl disable --now "$server" >&2 || true
        done
    fi
}

packages() {
    if ! command -v dpkg-query >/dev/null; then
        say "setup: this system is not based on Debian. If the build fails, install the equivalents of: $*"
        return 0
    fi
    missing=$(missing_of "$@")
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" -eq 0 ]; then
        # shellcheck disable=SC2086
        install $missing
    else
        say "setup: packages are missing. Run this command, then repeat yours:"
        say "  sudo apt-get update && sudo apt-get install --no-install-recommends $missing"
        return 1
    fi
}

toolchain() {
    channel=$(sed -n 's/^channel = "\(.*\)"/\1/p' rust-toolchain.toml)
    if ! command -v cargo >/dev/null; then
        say "setup: cargo is missing; install rustup (https://rustup.rs), then: rustup toolchain install $channel"
        return 1
    fi
    if ! found=$(rustc --version 2>/dev/null); then
        say "setup: Rust $channel is missing: rustup toolchain install $channel --profile minimal -c rustfmt -c clippy"
        return 1
    fi
    case $found in
    "rustc $channel "*) ;;
    *) say "setup: found $found, tested with $channel" ;;
    esac
    # After this, everything from the network is on this machine. Cargo does not fetch again what is already
    # here.
    cargo fetch --quiet --locked
}

# The program that packs the Debian package, into target/tools.
cargo_deb() {
    version=3.8.0
    [ "$(target/tools/bin/cargo-deb --version 2>/dev/null)" != "cargo-deb $version" ] || return 0
    say "setup: building cargo-deb $version"
    cargo install --quiet --locked --no-default-features --root target/tools --version $version cargo-deb
}

# A clean Debian root of this machine's release, from this machine's package sources: target/debian. The tests
# install our package in it.
debian_root() {
    { [ "$(id -u)" -eq 0 ] && command -v mmdebstrap >/dev/null; } || return 0
    suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
    # What our package depends on, whose name differs between releases, and what starts its unit.
    libelf=$(dpkg-query -W -f '${Depends}' libelf-dev | tr -s ', ' '\n' | grep -m 1 '^libelf1')
    include=$libelf,zlib1g,systemd
    made="$suite $include"
    [ "$(cat target/debian.made 2>/dev/null)" != "$made" ] || return 0
    say "setup: making a Debian root of $suite"
    set --
    for source in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
        [ ! -s "$source" ] || set -- "$@" "$source"
    done
    mkdir -p target
    rm -rf target/debian target/debian.new target/debian.made
    apt-config dump Acquire >target/debian.apt
    mmdebstrap --quiet --variant=essential --include="$include" --aptopt="$PWD/target/debian.apt" \
        --dpkgopt=force-unsafe-io "$suite" target/debian.new "$@" >&2
    mv target/debian.new target/debian
    echo "$made" >target/debian.made
}

# Both wait mostly for the network or for one core.
package_tools() {
    cargo_deb &
    debian_root
    wait $!
}

cd "$(dirname "$0")/.."
# shellcheck disable=SC2086
case ${1:-build} in
build) packages $build_packages && toolchain ;;
deb) packages $build_packages $deb_packages && toolchain && cargo_deb ;;
test) packages $build_packages $deb_packages $test_packages && toolchain && package_tools ;;
*)
    say "usage: scripts/setup.sh [build|deb|test]"
    exit 2
    ;;
esac
