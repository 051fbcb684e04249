# shellcheck shell=bash
# Two radios: the user's own connection over one, and slowhand joins over the other, on another channel. Under
# `handover-warm`, a download survives the user's access point.
TRIAL=joins-radios
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# users_connection: joins the first access point with the last radio, and has the default route over it.
users_connection() {
    own=$(ls /sys/class/ieee80211/phy3/device/net)
    printf 'network={\nssid="first"\npsk="%s"\n}\n' "$PASSPHRASE" >/run/own.conf
    wpa_supplicant -B -f "$LOGS/users-supplicant" -i "$own" -c /run/own.conf
    await "the user's connection" has_text "$LOGS/users-supplicant" CTRL-EVENT-CONNECTED
    udhcpc -i "$own" -s /lib/udhcpc.sh -t 10 -T 1 -n -q >"$LOGS/own.udhcpc" 2>&1 || fail "no lease for the user"
}

# bytes WHICH: bytes that the server has sent to the first or second access point.
bytes() { sed -n "s/.*\"$1_bytes\":\([0-9]*\).*/\1/p" /share/figures.json; }

is_up() { ip -br link show "$1" | grep -q ' UP '; }

say "radios, access points and the user's connection"
radios 3
server
access_point 1 first 6 12mbit 5ms
access_point 2 second 11 12mbit 5ms
users_connection
networks second
sed -i '1i policy = "handover-warm"' /etc/slowhand/slowhand.toml
host >/run/before
start
await "joining the second network" carries 2
reports "$own .* use " || fail "the user's connection is not in use"
download_joined 8000000 1000000
await "that slowhand's link is in use" reports "slow-w. .* use "
[[ $(bytes first) -ge 900000 && $(bytes second) -ge 6000000 ]] \
    || fail "the download did not begin over one radio and continue over the other"
radio_on 1 first 6
await "the user's connection again" is_up "$own"
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
