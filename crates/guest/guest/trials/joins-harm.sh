# shellcheck shell=bash
# What slowhand leaves alone while it joins, loses and leaves access points: a host with a cable, an inner
# network by another router, a rule for marked packets, forbidden networks and a container. Each route lookup
# must have the answer that it has without slowhand, and the container's pings must all return.
TRIAL=joins-harm
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# neighbour NAME PREFIX: a namespace behind an interface of this name. The client is PREFIX.2, it is PREFIX.1.
neighbour() {
    ip netns add "$1"
    ip link add "$1" type veth peer name wire netns "$1"
    ip address add "$2.2/24" dev "$1"
    ip link set "$1" up
    ip -n "$1" address add "$2.1/24" dev wire
    ip -n "$1" link set wire up
    ip -n "$1" link set lo up
}

# lookups: where packets go, one line each.
lookups() {
    local to more
    for to in 10.0.1.200 192.168.7.1 192.168.7.9 192.168.8.1 172.20.0.1 172.31.4.5 10.50.0.1 198.51.100.7 $SERVER fd00:7::1 2001:db8::7; do
        for more in '' 'mark 0x51' 'uid 65534' 'ipproto 17 dport 53' 'oif office'; do
            # shellcheck disable=SC2086 # several words
            echo "$to $more: $(ip route get "$to" $more 2>&1 | head -n 1 | sed 's/ uid [0-9]*//; s/ *$//')"
        done
    done
    for to in 192.168.7.1 198.51.100.7 10.50.0.1; do
        echo "forwarded to $to: $(ip route get "$to" from 172.20.0.1 iif container 2>&1 | head -n 1)"
        echo "from its own address to $to: $(ip route get "$to" from 192.168.7.2 2>&1 | head -n 1)"
    done
}

# same WHEN: fails unless every lookup has the answer that it had before.
same() {
    lookups >"$LOGS/lookups-$1"
    diff "$LOGS/lookups-before" "$LOGS/lookups-$1" || fail "packets go elsewhere $1"
}

say "a host with a cable and a container"
radios 2
server
access_point 1 first 6 12mbit 5ms
access_point 2 second 6 12mbit 5ms
neighbour office 192.168.7
neighbour container 172.20.0
sysctl -q net.ipv4.ip_forward=1
ip -n container route add default via 172.20.0.2
ip -n office address add 198.51.100.7/32 dev lo
ip -n office route add 172.20.0.0/24 via 192.168.7.2
ip route add default via 192.168.7.1 dev office metric 100
ip route add 192.168.8.0/24 via 192.168.7.9
# The first access point gives addresses of a network that the host is on already.
ip address add 10.0.1.250/24 dev office noprefixroute
ip route add 10.0.1.0/24 dev office src 10.0.1.250 metric 100
ip route add unreachable 172.31.0.0/16
ip rule add fwmark 0x51 lookup 51 priority 1051
ip route add default via 192.168.7.9 dev office table 51
ip rule add to 10.50.0.0/16 lookup 50 priority 1050
ip route add default via 192.168.7.9 dev office table 50
ip -6 address add fd00:7::2/64 dev office nodad
ip -6 route add default via fd00:7::1 dev office metric 100
networks first second
host >/run/before
lookups >"$LOGS/lookups-before"
grep -q 'dev office' "$LOGS/lookups-before" || fail "the host does not use its cable"
ip netns exec container ping -i 0.2 198.51.100.7 >/run/ping 2>&1 &
pinging=$!

start
for n in 1 2; do await "joining network $n" carries $n; done
same joined
kill "$(cat /run/ap1.hostapd)"
await "the loss of the first access point" lost_first
same lost
radio_on 1 first 6
await "joining the first one again" carries 1
same returned
stop
same stopped
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"

start
await "joining after the stop" carries 1
kill -9 "$(pidof slowhandd)"
wait "$daemon" || true
await "the end of its interfaces" eval '! ls /sys/class/net/slow-w1'
same killed
slowhand down
kill -INT $pinging
wait $pinging || true
pings=$(awk '/ packets transmitted/ { printf "\"sent\":%d,\"lost\":%d", $1, $1 - $4 }' /run/ping)
printf '{"trial":"%s","lookups":%d,"container":{%s}}\n' "$TRIAL" "$(wc -l <"$LOGS/lookups-before")" "$pings" \
    | tee /share/figures.json
has_text /share/figures.json '"lost":0}' || fail "pings of the container were lost"
