# shellcheck shell=bash
# What happens to a laptop while slowhand has joined two access points: its supplicant dies or hangs, its
# radio is blocked or goes away, its clock and its country change, the country forbids the channel, and access
# points change channel or end the association. After each of them, both access points carry packets again.
TRIAL=joins-faults
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# both_again WHAT: waits until both access points carry packets again after a fault, and prints the time.
both_again() {
    local begun
    begun=$(uptime_s)
    for n in 1 2; do await "$1: joining network $n again" carries $n; done
    say "$1: both are back after $(since "$begun") s"
    RETURNS+=("\"$1\":$(since "$begun")")
}
RETURNS=()

# ends: how many associations slowhand has seen end.
ends() { grep -c 'the association has ended' "$LOGS/slowhand" || true; }

# is_ended PROCESS
is_ended() { ! kill -0 "$1"; }

regulatory
two_known_networks
await "the rules of a country" has_country DE
start
for n in 1 2; do await "joining network $n" carries $n; done

say "the supplicant dies"
kill -9 "$(pidof wpa_supplicant)"
await "the loss of both" carries_none
both_again supplicant

say "the supplicant hangs"
hung=$(pidof wpa_supplicant)
kill -STOP "$hung"
# It must reply every 5 s. A missing reply is given 10 s.
sleep 10
await "the end of the one that hangs" is_ended "$hung"
both_again hung

say "the radio is blocked"
block=$(echo /sys/class/ieee80211/phy0/rfkill*/soft)
echo 1 >"$block"
await "the loss of both" carries_none
await "a warning of the block" has_text "$LOGS/slowhand" 'is blocked'
reports 'blocked' || fail "status does not say that the radio is blocked"
echo 0 >"$block"
both_again rfkill
for n in 1 2; do
    await "frames of access point $n again" reports "$(bssid_of $n).*measured on its frames"
done

say "the clock jumps and the country changes"
interfaces=$(ip -o link show | grep slow-w | cut -d : -f 1)
ends_before=$(ends)
date -s "@$(($(date +%s) + 86400))"
iw reg set US
await "the rules of another country" has_country US
sleep 3
both_again clock
[ "$(ends)" -eq "$ends_before" ] || fail "a clock or a country ended an association"
[ "$(ip -o link show | grep slow-w | cut -d : -f 1)" = "$interfaces" ] || fail "a clock or a country cost an association"

say "the access points change channel"
for n in 1 2; do hostapd_cli -p "/run/hostapd-ap$n" -i wlan chan_switch 5 2462; done
for n in 1 2; do await "the channel of access point $n" on_channel "$n" 11; done
both_again channel
await "the new channel in status" reports 'first .*channel 11'

say "access point 1 ends the association, again and again"
ended_before=$(grep -c 'has ended (reason 2)' "$LOGS/slowhand" || true)
for round in $(seq 20); do
    await "joining access point 1 in round $round" carries 1
    hostapd_cli -p /run/hostapd-ap1 -i wlan deauthenticate "$(mac_of 1)" | grep -q OK || fail "nothing was ended"
    carries 2 || fail "the other access point carries nothing in round $round"
done
both_again deauthentications
ended=$(($(grep -c 'has ended (reason 2)' "$LOGS/slowhand") - ended_before))
[ $ended -eq 20 ] || fail "slowhand has seen $ended ends of 20"

say "access point 1 floods it with ends of the association"
client=$(mac_of 1)
ends_before=$(ends)
sent=0
for round in $(seq 50); do
    hostapd_cli -p /run/hostapd-ap1 -i wlan deauthenticate "$client" | grep -q OK && sent=$((sent + 1))
    [ $((round % 10)) -ne 0 ] || carries 2 || fail "the other access point carries nothing in the flood"
done
[[ $sent -eq 50 && $(ends) -gt $ends_before ]] || fail "the flood has ended nothing"
both_again flood

say "the country forbids the channel in use"
iw reg set DE
await "the rules of the first country" has_country DE
for n in 1 2; do hostapd_cli -p "/run/hostapd-ap$n" -i wlan chan_switch 5 2472; done
for n in 1 2; do await "the channel of access point $n" on_channel "$n" 13; done
both_again channel_13
iw reg set US
# The kernel ends such associations after 60 s.
within 100 "the loss of both" carries_none
iw reg set DE
await "the rules of the first country" has_country DE
for n in 1 2; do ends_hostapd $n; done
radio_on 1 first 6
radio_on 2 second 6
both_again country

say "the radio goes away"
ip netns add away
iw phy phy0 set netns name away
# A radio that is plugged in again has none of our interfaces.
for name in $(ip netns exec away ls /sys/class/ieee80211/phy0/device/net | grep slow-); do
    ip netns exec away iw dev "$name" del
done
await "a warning of the missing radio" has_text "$LOGS/slowhand" 'no radio'
reports 'no radio' || fail "status does not say that the radio is missing"
ip netns exec away iw phy phy0 set netns 1
both_again radio

stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
(IFS=, && printf '{"trial":"%s","returns_s":{%s}}\n' "$TRIAL" "${RETURNS[*]}") | tee /share/figures.json
