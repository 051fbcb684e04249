# shellcheck shell=bash
# slowhand beside NetworkManager, which has the user's connection over the same radio, and systemd-resolved.
# slowhand takes over the networks that NetworkManager has saved, and joins them with interfaces of its own.
TRIAL=joins-beside
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh
# shellcheck source=crates/guest/guest/beside.sh
. /lib/beside.sh

say "radios, access points and the user's programs"
radios 2
server
# shellcheck disable=SC2034 # box.sh reads it
DHCP_OPTIONS=("6,$SERVER" "114,http://portal.example/")
access_point 1 first 6 12mbit 5ms
access_point 2 second 6 12mbit 5ms
system_bus
resolved
network_manager
saved_network first 1
saved_network second 0
await "the user's connection" has_state wlan0 100
say "the user is on $(nmcli -g GENERAL.CONNECTION device show wlan0)"
ping -I wlan0 10.0.1.1 >/run/ping 2>&1 &
pinging=$!

say "taking over what NetworkManager has saved"
slowhand wifi import --dry-run
slowhand wifi import
host >/run/before
start
for ssid in first second; do await "joining $ssid" joined $ssid; done
ours=(/sys/class/net/slow-w*)
ours=("${ours[@]##*/}")
say "joined with ${ours[*]}"
for name in "${ours[@]}"; do
    has_state "$name" 10 || fail "NetworkManager manages $name: $(nmcli -g GENERAL.STATE device show "$name")"
    state=/run/systemd/resolve/netif/$(cat "/sys/class/net/$name/ifindex")
    await "the name server of $name" has_text "$state" "$SERVER"
    await "that names are resolved over $name" has_text "$state" DEFAULT_ROUTE=yes
done
has_state wlan0 100 || fail "the user's connection has ended"
slowhand status >"$LOGS/status-joined"
! grep 'a network of unknown name' "$LOGS/status-joined" || fail "a joined network has no name"
# Nothing checks for a portal here: NetworkManager has no URL for that.
await "the portal in status" reports 'announces a captive portal (http://portal.example/)'
has_text "$LOGS/slowhand" 'announces a captive portal' || fail "the log does not name the portal"
sleep 5
[ "$(slowhand wifi portal slow-w1)" = http://portal.example/ ] || fail "no URL of the portal"

say "starting NetworkManager again"
kill -INT $pinging
wait $pinging || true
kill "$(pidof NetworkManager)"
await "the end of NetworkManager" is_gone NetworkManager
network_manager
await "the user's connection again" has_state wlan0 100
for name in "${ours[@]}"; do await "$name without NetworkManager" has_state "$name" 10; done
for ssid in first second; do await "$ssid still joined" joined $ssid; done
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"

say "killing slowhand"
start
for ssid in first second; do await "joining $ssid again" joined $ssid; done
[ "$(grep -c DHCPDISCOVER "$LOGS/ap2.dnsmasq")" -eq 1 ] || fail "the known address was not asked for first"
kill -9 $daemon
wait $daemon || true
await "the end of its interfaces" has_no_interfaces
has_state wlan0 100 || fail "the user's connection has ended with slowhand"
slowhand down
cat /run/ping >"$LOGS/ping"
sent=$(sed -n 's/^\([0-9]*\) packets transmitted, .*/\1/p' /run/ping)
received=$(sed -n 's/.*transmitted, \([0-9]*\) .*received.*/\1/p' /run/ping)
printf '{"trial":"%s","users_connection":{"sent":%s,"lost":%s}}\n' "$TRIAL" "$sent" $((sent - received)) \
    | tee /share/figures.json
