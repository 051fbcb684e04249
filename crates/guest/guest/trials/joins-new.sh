# shellcheck shell=bash
# `slowhand up` has joined one access point, and downloads over it. A second one begins to send beacons on the
# same channel: time until a subflow over it is established. It goes, and comes back: the same with a known
# address. slowhand keeps this subflow in reserve, because both access points share the airtime of one
# channel.
TRIAL=joins-new
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# goes: ends hostapd of the second access point, which sends a deauthentication.
goes() {
    local hostapd
    hostapd=$(cat /run/ap2.hostapd)
    kill "$hostapd"
    await "the end of the second access point" test ! -e "/proc/$hostapd"
}

# comes: starts it again. The clock's time of its first beacon is in $came.
comes() {
    rm "$LOGS/ap2.hostapd"
    radio_on 2 second 6
    came=$(sed -n 's/: wlan: AP-ENABLED.*//p' "$LOGS/ap2.hostapd")
}

# waited: seconds from the first beacon until the server acknowledges the last packet of a new subflow's
# handshake over the second access point.
waited() {
    awk -v came="$came" '
        $1 > came && $7 ~ /S/ && $7 !~ /[.]/ { begun[$3 ":"] = 1 }
        $1 > came && $3 ~ /[.]5000$/ && $7 !~ /S/ && ($5 in begun) { printf "%.2f", $1 - came; exit }
    ' /run/packets
}
has_subflow() { [ -n "$(waited)" ]; }

# is_left: whether slowhand has no interface on the second access point any more.
is_left() { ! interface_of 2; }

# retransmitted: segments that the server has sent again.
retransmitted() { ip netns exec server cat /proc/net/snmp | awk '/^Tcp: [0-9]/ { print $13 }'; }

say "radios and access points"
radios 2
server
access_point 1 first 6 3mbit 5ms
access_point 2 second 6 3mbit 5ms
goes
networks first second
host >/run/before
head -c 40000000 /dev/urandom >/run/content
ip netns exec server wifi-meter serve "$SERVER:5000" /run/content --part &
await "the server" has_listener
ip netns exec server tcpdump --immediate-mode -l -n -tt -i ap2 'tcp port 5000' >/run/packets 2>"$LOGS/tcpdump" &
listener=$!
await "the listener behind the second access point" has_text "$LOGS/tcpdump" listening
start
await "joining the first network" carries 1
wifi-meter fetch "$SERVER:5000" --seconds 40 >/run/download &
fetch=$!
# At any moment between two scans.
sleep "$((3 + RANDOM % 2)).$((RANDOM % 10))"
[ ! -s /run/packets ] || fail "packets went over an access point that is off"

say "the second access point appears"
before=$(retransmitted)
comes
await "a subflow over the new access point" has_subflow
again=$(($(retransmitted) - before))
new_s=$(waited)
slowhand status >"$LOGS/status-new"
sleep 2

say "it goes"
goes
await "the end of its interface" is_left
sleep "$((RANDOM % 2)).$((RANDOM % 10))"
comes
say "it is back"
await "a subflow over the access point again" has_subflow
again_s=$(waited)
[ "$(grep -c DHCPDISCOVER "$LOGS/ap2.dnsmasq")" -eq 1 ] || fail "the known address was not requested first"
wait $fetch || fail "the download has broken"
kill $listener
bytes=$(sed 's/.*"bytes":\([0-9]*\).*/\1/' /run/download)
hash=$(head -c "$bytes" /run/content | sha256sum | cut -d ' ' -f 1)
has_text /run/download "$hash" || fail "other bytes arrived than were sent"
cp /run/packets "$LOGS/packets"
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
printf '{"trial":"%s","new_s":%s,"again_s":%s,"retransmitted":%s,"download":%s}\n' \
    "$TRIAL" "$new_s" "$again_s" "$again" "$(cat /run/download)" | tee /share/figures.json
