# shellcheck shell=bash
# slowhand beside iwd, which has the user's connection over the same radio. iwd leaves the interfaces of
# slowhand alone as docs/joining.md tells, also if it is started again. Without that, it takes them.
TRIAL=joins-iwd
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh
# shellcheck source=crates/guest/guest/beside.sh
. /lib/beside.sh

# iwd OPTION...: starts it, as its unit does. Its process is in $iwd then.
iwd() {
    /usr/libexec/iwd "$@" >>"$LOGS/iwd" 2>&1 &
    iwd=$!
    await "the user's connection" user_is_connected
}

# stop_iwd: ends it.
stop_iwd() {
    kill "$iwd"
    wait "$iwd" || true
}

# user_is_connected: whether the iwd that runs now has connected wlan0, and has an address for it.
user_is_connected() {
    iwctl station wlan0 show >"$LOGS/iwd-station"
    has_text "$LOGS/iwd-station" 'State  *connected' && ip -4 address show wlan0 | grep -q 'inet 10\.0\.'
}

# iwd_has NAME: whether iwd manages an interface of this name.
iwd_has() {
    iwctl device list >"$LOGS/iwd-devices"
    has_text "$LOGS/iwd-devices" " $1 "
}

# ours: the interfaces of slowhand.
ours() {
    local path
    for path in /sys/class/net/slow-w*; do [ ! -e "$path" ] || echo "${path##*/}"; done
}

both_joined() { joined first && joined second; }

# ended: how many associations of slowhand have ended.
ended() { grep -c 'the association has ended' "$LOGS/slowhand" || true; }

say "radios, access points and iwd"
two_access_points
system_bus
for module in algif_hash algif_skcipher; do modprobe $module; done
mkdir -p /etc/iwd /var/lib/iwd
printf '%s\n' '[General]' EnableNetworkConfiguration=true '[Network]' NameResolvingService=none \
    >/etc/iwd/main.conf
for ssid in first second; do
    (umask 077 && printf '[Security]\nPassphrase=%s\n' "$PASSPHRASE" >/var/lib/iwd/$ssid.psk)
done
iwd --nointerfaces 'slow-w*'
ping -I wlan0 "$(ip -4 route show dev wlan0 | sed -n 's/^default via \([^ ]*\).*/\1/p')" >/run/ping 2>&1 &
pinging=$!

say "joining beside iwd"
slowhand wifi import
host >/run/before
start
await "joining both" both_joined
for name in $(ours); do
    ! iwd_has "$name" || fail "iwd manages $name"
done
iwd_has wlan0 || fail "iwd does not list its own interface"
sleep 5
both_joined || fail "an access point was left beside iwd"
user_is_connected || fail "the user's connection has ended"
kill -INT $pinging
wait $pinging || true

say "starting iwd again"
before=$(ours)
stop_iwd
iwd --nointerfaces 'slow-w*'
[ "$(ours)" = "$before" ] || fail "iwd has removed interfaces of slowhand"
both_joined || fail "an access point was left when iwd was started again"
[ "$(ended)" -eq 0 ] || fail "iwd has ended an association of slowhand"

stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"

say "without the option"
start
await "joining both again" both_joined
before=$(ended)
stop_iwd
iwd
[ "$(ended)" -gt "$before" ] || fail "iwd leaves interfaces of slowhand alone without the option"

say "with the option again"
# This iwd had an interface of its own, and removes it when it ends.
stop_iwd
iw phy phy0 interface add wlan0 type managed
iwd --nointerfaces 'slow-w*'
await "joining both once more" both_joined
stop
cat /run/ping >"$LOGS/ping"
sent=$(sed -n 's/^\([0-9]*\) packets transmitted, .*/\1/p' /run/ping)
received=$(sed -n 's/.*transmitted, \([0-9]*\) .*received.*/\1/p' /run/ping)
printf '{"trial":"%s","users_connection":{"sent":%s,"lost":%s}}\n' "$TRIAL" "$sent" $((sent - received)) \
    | tee /share/figures.json
