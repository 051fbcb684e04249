# shellcheck shell=bash
# `slowhand up` over a radio whose driver serves two channels at once: it joins an access point on each, and a
# download continues when the first one is killed.
TRIAL=joins-channels
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# shellcheck disable=SC2034 # box.sh reads both
CHANNELS=2 SECOND_CHANNEL=11
two_known_networks
start
for n in 1 2; do await "joining network $n" carries $n; done
for n in 1 2; do
    iw dev "$(joined_to $n)" info | grep -F 'channel ' | tee -a "$LOGS/channels"
done
[ "$(grep -c 'channel \(6\|11\) ' "$LOGS/channels")" -eq 2 ] || fail "the two are not on their channels"
[ "$(sort -u "$LOGS/channels" | grep -c .)" -eq 2 ] || fail "both are on one channel"
slowhand doctor >"$LOGS/doctor" 2>&1 || true
has_text "$LOGS/doctor" 'two channels\|2 channels' || fail "doctor does not say that the card serves two channels"
download_joined 8000000 1000000
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
