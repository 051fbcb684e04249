# shellcheck shell=bash
# `slowhand up` joins two access points by itself, over one radio: a download, measured with a monitor
# interface of its own, and the loss of one. A stop and a kill leave the host as it was.
TRIAL=joins
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# measured N: waits until status and why say that access point N is measured on its frames.
measured() {
    await "the source in status" reports "$(bssid_of "$1").*measured on its frames"
    await "a loss in why" explains "$(interface_of "$1"): .* frames got through at the first attempt"
}

two_known_networks
sed -i '1i monitor = true' /etc/slowhand/slowhand.toml
start
for n in 1 2; do await "joining network $n" has_lease $n; done
say "joined: $(ip -br -4 address show | grep slow-w | tr -s ' ' | tr '\n' ' ')"
iw dev slowhand0 info >"$LOGS/monitor" || true
has_text "$LOGS/monitor" 'type monitor' || fail "slowhand has created no monitor interface"
measured 2 &
watcher=$!
download_joined 8000000 1000000
wait $watcher || fail "no measurement came from the monitor interface"
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"

say "killing slowhand"
radio_on 1 first 6
start
for n in 1 2; do await "joining network $n again" has_lease $n; done
await "the monitor interface again" test -e /sys/class/net/slowhand0
kill -9 $daemon
wait $daemon || true
await "the end of wpa_supplicant" is_gone wpa_supplicant
slowhand down
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed after it was killed"
