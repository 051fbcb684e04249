# shellcheck shell=bash
# `slowhand up` joins two access points by itself, over one radio: a download, and the loss of one. A stop and
# a kill leave the host as it was.
TRIAL=joins
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

two_known_networks
start
for n in 1 2; do await "joining network $n" has_lease $n; done
say "joined: $(ip -br -4 address show | grep slow-w | tr -s ' ' | tr '\n' ' ')"
download_joined 8000000 1000000
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"

say "killing slowhand"
radio_on 1 first 6
start
for n in 1 2; do await "joining network $n again" has_lease $n; done
kill -9 $daemon
wait $daemon || true
await "the end of wpa_supplicant" is_gone wpa_supplicant
slowhand down
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed after it was killed"
