# shellcheck shell=bash
# What it costs a flow that the radio is on another channel: pings every 20 ms in both directions during a
# visit to another channel (remain on channel), and during a scan of three channels. Another radio hears the
# frames with which the station leaves and returns, and whether the access point sends in between.
TRIAL=scan-cost
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh

# away NAME COMMAND...: 150 pings in each direction, and a command meanwhile. Prints the figures as JSON.
away() {
    local name=$1 up down
    shift
    ping -i 0.02 -c 150 -W 1 -I sta1 10.0.1.1 >"/run/$name-up" 2>&1 &
    up=$!
    ip netns exec ap1 ping -i 0.02 -c 150 -W 1 "$ip" >"/run/$name-down" 2>&1 &
    down=$!
    sleep 1
    kill -0 $up $down || fail "the pings were over before $name"
    "$@" >"/run/$name" 2>&1 || fail "$name failed: $(tail -n 1 "/run/$name")"
    wait $up $down || true
    printf '"%s":{%s,%s}' "$name" "$(pinged up "/run/$name-up")" "$(pinged down "/run/$name-down")"
}

# pinged WAY FILE: the figures of pings.
pinged() {
    awk -v way="$1" '
        / packets transmitted/ { sent = $1; received = $4 }
        /time=/ { sub(/.*time=/, ""); if ($1 > most) most = $1 }
        END { printf "\"%s\":{\"sent\":%d,\"lost\":%d,\"longest_ms\":%s}", way, sent, sent - received, most }
    ' "$2"
}

# heard TAG FILTER: the times of these frames in the capture, each with a tag.
heard() { tcpdump -tt -nn -r /run/air.pcap "$2" 2>/dev/null | sed "s/ .*/ $1/"; }

say "two access points on two channels, and a radio that only listens"
radios 3
server
access_point 1 first 6 100mbit 1ms
access_point 2 second 11 100mbit 1ms
interfaces 1
join 6 first
lease 1
iw phy phy3 interface add air0 type monitor
ip link set air0 up
iw dev air0 set channel 6
tcpdump -i air0 -w /run/air.pcap --immediate-mode 2>"$LOGS/tcpdump" &
hears=$!
await "the capture" has_text "$LOGS/tcpdump" 'listening on'

say "away from the channel"
figures=$(away nothing true)
figures+=,$(away visit iw dev sta1 offchannel 2462 30)
figures+=,$(away three_channels iw dev sta1 scan freq 2412 2437 2462)
has_text /run/three_channels 'SSID: second' || fail "the scan has not heard the access point of another channel"
kill $hears
wait $hears || true

say "what the air says"
mac=$(cat /sys/class/net/sta1/address)
{
    heard leaves "wlan addr2 $mac and wlan[0] = 0x48 and wlan[1] & 0x10 != 0"
    heard returns "wlan addr2 $mac and wlan[0] = 0x48 and wlan[1] & 0x10 = 0"
    heard data "wlan addr1 $mac and type data subtype data"
} | sort >"$LOGS/heard"
absences=$(awk '
    $2 == "leaves" { away = 1; leaves++ }
    $2 == "returns" && away { away = 0; after = 1; until = $1 + 0.005 }
    $2 == "data" && away { during++ }
    $2 == "data" && !away && after && $1 < until { kept++ }
    END { printf "\"absences\":%d,\"sent_meanwhile\":%d,\"sent_at_once_after\":%d", leaves, during, kept }
' "$LOGS/heard")
printf '{"trial":"%s",%s,"air":{%s}}\n' "$TRIAL" "$figures" "$absences" | tee /share/figures.json
has_text /share/figures.json '"absences":[1-9].*"sent_meanwhile":0,"sent_at_once_after":[1-9]' \
    || fail "the access point does not keep packets for a station that is away"
