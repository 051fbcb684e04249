# shellcheck shell=bash
# Two access points, a download, and one of them goes dark without a word. Then it comes back: the time until
# it carries packets again.
TRIAL=joins-dark
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

two_known_networks
begun=$(uptime_s)
start
for n in 1 2; do await "joining network $n" carries $n; done
joined_s=$(since "$begun")

say "access point 1 goes dark in the middle of a download"
darkens 1
download_joined 8000000 1000000
has_text "$LOGS/ap1.hostapd" 'deauth' && fail "access point 1 has said goodbye"

say "it comes back"
begun=$(uptime_s)
radio_on 1 first 6
ip -n ap1 address replace 10.0.1.1/24 dev wlan
await "a beacon of it" reports 'network first .*: \(heard\|joining\|addressing\|joined\)'
heard_s=$(since "$begun")
await "a packet over it" carries 1
carries_s=$(since "$begun")
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
sed -i "s/}\$/,\"joined_s\":$joined_s,\"again\":{\"heard_s\":$heard_s,\"carries_s\":$carries_s}}/" /share/figures.json
cat /share/figures.json
