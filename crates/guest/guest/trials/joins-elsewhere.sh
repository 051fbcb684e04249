# shellcheck shell=bash
# `slowhand up` over a radio that serves one channel at a time, with an access point on each of two channels:
# the one in use goes for good during a download. The other one ends the association during another download,
# and is started again while it is the only one.
TRIAL=joins-elsewhere
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# serves: lets the server send /run/content to one client.
serves() {
    ip netns exec server wifi-meter serve "$SERVER:5000" /run/content &
    await "the server" has_listener
}

# same_bytes FIGURES: fails unless a download got the bytes of /run/content.
same_bytes() {
    [[ $1 == *"\"sha256\":\"$(sha256sum /run/content | cut -d ' ' -f 1)\""* ]] || fail "other bytes arrived than were sent: $1"
}

ssids=('' first second)
channels=('' 6 11)
# shellcheck disable=SC2034 # box.sh reads it
SECOND_CHANNEL=11
two_known_networks
head -c 8000000 /dev/urandom >/run/content
start
await "that one carries packets" carries_one

say "the loss of access point $joined"
serves
elsewhere=$(wifi-meter fetch "$SERVER:5000" --after 1000000 --terminate "$(cat "/run/ap$joined.hostapd")")
same_bytes "$elsewhere"
carries "$other" || fail "the other one is not in use"
rm "$LOGS/ap$joined.hostapd"
radio_on "$joined" "${ssids[$joined]}" "${channels[$joined]}"

say "an association that ends, although its access point stays"
before=$(cat "/sys/class/net/$(joined_to "$other")/ifindex")
serves
wifi-meter fetch "$SERVER:5000" >/run/back &
fetch=$!
sleep 2
ip netns exec "ap$other" hostapd_cli -p "/run/hostapd-ap$other" deauthenticate "$(mac_of "$other")"
wait $fetch || fail "the download has broken"
back=$(cat /run/back)
same_bytes "$back"
await "that it carries packets again" carries "$other"
after=$(cat "/sys/class/net/$(joined_to "$other")/ifindex")
[ "$after" = "$before" ] || fail "the interface was made anew"

say "access point $other is started again, and there is no other"
ends_hostapd "$joined"
ends_hostapd "$other"
sleep 3
radio_on "$other" "${ssids[$other]}" "${channels[$other]}"
begun=$(uptime_s)
await "that it carries packets again" carries "$other"
restarted=$(since "$begun")
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
printf '{"trial":"%s","elsewhere":%s,"back":%s,"restarted_s":%s}\n' "$TRIAL" "$elsewhere" "$back" "$restarted" \
    | tee /share/figures.json
