# shellcheck shell=bash
# The driver allows one station, and NetworkManager has it with the user's connection. Without `take_over`,
# the connection stays. With it, slowhand takes its place, and gives it back: after a stop, after a kill, and
# when it cannot join.
TRIAL=joins-takeover
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh
# shellcheck source=crates/guest/guest/beside.sh
. /lib/beside.sh
# shellcheck source=crates/guest/guest/driver.sh
. /lib/driver.sh

# takes_over: the configuration lets slowhand take the place.
takes_over() { sed -i 's/^\[wifi\]$/&\ntake_over = true/' /etc/slowhand/slowhand.toml; }

# begins WHAT: from now on, the time until `ended` is that of WHAT.
begins() { what=$1 begun=$(uptime_s); }
ended() {
    say "$what after $(since "$begun") s"
    TIMES+=("\"$what\":$(since "$begun")")
}
TIMES=()

# connected: whether the user's connection is there.
connected() { has_state wlan0 100; }

# returned: waits for the user's connection, and writes down how long that took.
returned() {
    await "the user's connection again" connected
    ended
}

# the_host: without the P2P device, which NetworkManager's `wpa_supplicant` makes anew with each connection.
the_host() { host | sed '/^\t\taddr/{N;/P2P-device/d}'; }

# unchanged: fails unless NetworkManager has the interface, and the host is as it was before.
unchanged() {
    [ "$(nmcli -g GENERAL.NM-MANAGED device show wlan0)" = yes ] || fail "NetworkManager does not manage wlan0"
    await "the host as before" is_as_before
}
is_as_before() {
    the_host >/run/after
    diff /run/before /run/after >"$LOGS/differences"
}

ssids=('' first second)
few_stations 1
two_access_points
iw phy phy0 info >"$LOGS/phy0"
has_text "$LOGS/phy0" 'managed, .* <= 1,' || fail "the radio lists another limit"
networks first second
system_bus
resolved
network_manager
saved_network first 1
await "the user's connection" connected
the_host >/run/before

say "without take_over"
ping -I wlan0 10.0.1.1 >/run/ping 2>&1 &
pinging=$!
start
await "the key in status" reports 'beside wlan0.*take_over = true'
slowhand doctor --json >"$LOGS/doctor" || true
has_text "$LOGS/doctor" 'take_over = true' || fail "doctor does not name the key"
sleep 10
connected || fail "the user's connection has ended"
stop
connected || fail "the user's connection has ended"
kill -INT $pinging
wait $pinging || true
unchanged
cat /run/ping >"$LOGS/ping"
sent=$(sed -n 's/^\([0-9]*\) packets transmitted, .*/\1/p' /run/ping)
received=$(sed -n 's/.*transmitted, \([0-9]*\) .*received.*/\1/p' /run/ping)
[[ $sent -gt 5 && $sent -eq $received ]] || fail "the user lost packets: $received of $sent arrived"

say "with take_over"
takes_over
begins joined
start
await "that one carries packets" carries_one
ended
reports 'has taken the place of wlan0' || fail "status does not say whose place it is"
explains 'has taken the place of wlan0' || fail "why does not say whose place it is"
say "the loss of access point $joined"
begins other
kill "$(cat "/run/ap$joined.hostapd")"
await "that the other one carries packets" carries "$other"
ended
radio_on "$joined" "${ssids[$joined]}" 6
begins stopped
stop
returned
unchanged

say "killing slowhand"
start
await "that one carries packets" carries_one
kill -9 "$daemon"
wait "$daemon" || true
await "the end of its interfaces" has_no_interfaces
begins killed
slowhand down
returned
unchanged

say "killing it again, and starting it without take_over"
start
await "that one carries packets" carries_one
kill -9 "$daemon"
wait "$daemon" || true
networks first second
begins restarted
start
returned
stop
unchanged

say "a wrong key"
takes_over
echo 'another passphrase' >/etc/slowhand/networks.psk
begins wrong_key
start
await "that the place is taken" reports 'has taken the place of wlan0'
within 30 "that the key is wrong" reports 'the key is wrong'
within 60 "that the place goes back" reports 'wlan0 has the only place of the driver again, since nothing'
returned
sleep 20
connected || fail "the place was taken again at once"
nmcli device set wlan0 managed no
stop
[ "$(nmcli -g GENERAL.NM-MANAGED device show wlan0)" = no ] || fail "a stop has undone what the user has changed"
nmcli device set wlan0 managed yes
await "the user's connection" connected
unchanged
(IFS=, && printf '{"trial":"%s","takes_s":{%s},"users_connection":{"sent":%s,"lost":%s}}\n' \
    "$TRIAL" "${TIMES[*]}" "$sent" $((sent - received))) | tee /share/figures.json
