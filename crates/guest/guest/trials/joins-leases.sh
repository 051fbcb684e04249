# shellcheck shell=bash
# Two routers as in homes: each gives the same only address, and translates it. slowhand uses both at once.
# Then the second one's lease of two minutes: it is renewed without a loss, then refused, and the next one
# runs out.
TRIAL=joins-leases
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# dnsmasq has no shorter ones.
# shellcheck disable=SC2034 # box.sh reads it
LEASE=120

# home N: access point N gives one address, which is the same everywhere, and translates it.
home() {
    ip netns exec "ap$1" nft 'add table ip home; add chain ip home out { type nat hook postrouting priority srcnat; }
        add rule ip home out oifname "wire" masquerade'
    ip -n "ap$1" address add 192.168.7.1/24 dev wlan
    addresses "$1" 192.168.7.50,192.168.7.50 192.168.7.1
}

# gives N DHCPACK COUNT: whether its DHCP server has written this at least so often.
gives() { [ "$(grep -c "$2(wlan)" "$LOGS/ap$1.dnsmasq")" -ge "$3" ]; }

# sleeps_until N WHAT COUNT: as `await`, for minutes.
sleeps_until() {
    local tries
    for tries in $(seq 1500); do
        gives "$@" && return
        sleep 0.1
    done
    fail "$2 did not come $3 times from access point $1 within $((tries / 10)) s"
}

# has_address N ADDRESS: whether the interface at access point N has it.
has_address() { ip -o -4 address show "$(joined_to "$1")" | grep -q " $2"; }
has_no_address() { [ -n "$(joined_to 2)" ] && ! ip -o -4 address show "$(joined_to 2)" | grep -q inet; }

for module in nft_chain_nat nft_masq; do modprobe $module; done
two_access_points
home 1
home 2
networks first second
host >/run/before
start
for n in 1 2; do await "joining network $n" carries $n; done
for n in 1 2; do has_address $n 192.168.7.50/24 || fail "network $n has given another address"; done
download_joined 8000000 1000000
mv /share/figures.json /run/download
await "network 2 after the loss of the first" carries 2

say "the lease of network 2 is renewed"
radio_on 1 first 6
await "joining network 1 again" carries 1
acknowledged=$(grep -c 'DHCPACK(wlan)' "$LOGS/ap2.dnsmasq")
ping -i 0.2 -I "$(joined_to 2)" "$SERVER" >"$LOGS/ping" &
pinging=$!
sleeps_until 2 DHCPACK $((acknowledged + 1))
sleep 2
kill -INT $pinging
wait $pinging || true
has_text "$LOGS/ping" ' 0% packet loss' || fail "a renewal has cost packets: $(tail -n 3 "$LOGS/ping")"

say "a renewal is refused"
refused=$(grep -c 'DHCPNAK(wlan)' "$LOGS/ap2.dnsmasq" || true)
addresses 2 192.168.7.60,192.168.7.69 192.168.7.1
sleeps_until 2 DHCPNAK $((refused + 1))
begun=$(uptime_s)
await "another address" has_address 2 192.168.7.6
await "packets with it" carries 2
renewed_s=$(since "$begun")

say "the DHCP server of access point 2 has gone"
kill "$(cat /run/ap2.dnsmasq)"
# The lease is from just before.
begun=$(uptime_s)
for _ in $(seq 130); do
    has_no_address && break
    sleep 1
done
has_no_address || fail "a lease that has run out is still in use"
[ "$(since "$begun" | cut -d . -f 1)" -ge 110 ] || fail "a lease was given up before its end"
await "the reason in status" reports 'network second .*DHCP'
carries 1 || fail "the other network was lost with it"
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
sed "s/}}\$/},\"refused_s\":$renewed_s}/" /run/download | tee /share/figures.json
