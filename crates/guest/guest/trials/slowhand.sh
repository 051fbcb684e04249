# shellcheck shell=bash
# `slowhand up` on a host with two access points over one radio, a download, and the loss of one.
TRIAL=slowhand
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh

two_networks
mkdir -p /etc/slowhand
cat >/etc/slowhand/slowhand.toml <<'CONFIG'
peer_subflows = 8

[[link]]
interface = "sta1"
kind = "wifi"
channel = 6

[[link]]
interface = "sta2"
kind = "wifi"
channel = 6
CONFIG

# host: what slowhand changes on a host, and restores.
host() {
    ip rule
    ip -4 route show table all | sed 's/ linkdown//'
    ip mptcp limits
    ip mptcp endpoint
    sysctl net.mptcp
}
host >/run/before
slowhand up >$LOGS/slowhand 2>&1 &
daemon=$!
# lists N: whether the daemon lists staN as a link.
lists() { slowhand status --json | grep -q "\"sta$1\""; }
for n in 1 2; do await "sta$n as a link" lists $n; done
download_and_kill 8000000 1000000
slowhand why >$LOGS/why
kill -0 $daemon || fail "slowhand has ended by itself"
slowhand down
wait $daemon
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
