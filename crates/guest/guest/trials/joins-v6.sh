# shellcheck shell=bash
# `slowhand up` joins two access points that give addresses by router advertisements alone, without DHCP. A
# download over IPv6 continues when the first one is killed.
TRIAL=joins-v6
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

SERVER6=fd09::1

# ipv6_alone N: access point N routes IPv6 to the server, and has no DHCP.
ipv6_alone() {
    local n=$1 ns=ap$1
    kill "$(cat "/run/$ns.dnsmasq")"
    await "the end of dnsmasq of $ns" has_text "$LOGS/$ns.dnsmasq" 'exiting on receipt of SIGTERM'
    ip netns exec "$ns" sysctl -q net.ipv6.conf.all.forwarding=1
    ip -n "$ns" address add "fd00:$n::1/64" dev wlan nodad
    ip -n "$ns" address add "fd01:$n::1/64" dev wire nodad
    ip -n server address add "fd01:$n::2/64" dev "$ns" nodad
    ip -n "$ns" route add $SERVER6 via "fd01:$n::2"
    ip -n server route add "fd00:$n::/64" via "fd01:$n::1" src $SERVER6
    ip netns exec "$ns" dnsmasq --conf-file=/dev/null --user=root --port=0 --interface=wlan --bind-interfaces \
        --enable-ra --dhcp-range="fd00:$n::,ra-only" --dhcp-leasefile="/run/$ns.leases" \
        --pid-file="/run/$ns.dnsmasq" --log-facility="$LOGS/$ns.dnsmasq6"
}

# carries6 N: whether a packet to the server and back gets through over access point N.
carries6() {
    local name
    name=$(joined_to "$1") && ping -6 -q -c 1 -W 1 -I "$name" $SERVER6
}

two_access_points
ip -n server address add $SERVER6/128 dev lo
for n in 1 2; do ipv6_alone $n; done
networks first second
host >/run/before
start
for n in 1 2; do await "joining network $n" carries6 $n; done
slowhand status >"$LOGS/status-joined"
[ "$(grep -c 'joined as slow-w[12]; it gives no IPv4 address' "$LOGS/status-joined")" -eq 2 ] \
    || fail "status does not say that both give IPv6 alone"
! ip -4 address show | grep -F slow-w -A 2 | grep 'inet ' || fail "an access point has given an IPv4 address"
ip -6 route show default >"$LOGS/routes"
[ "$(grep -c 'metric 2048' "$LOGS/routes")" -eq 2 ] || fail "a default route is not behind the user's"

head -c 8000000 /dev/urandom >/run/content
hash=$(sha256sum /run/content | cut -d ' ' -f 1)
ip netns exec server wifi-meter serve "[$SERVER6]:5000" /run/content &
await "the server" has_listener
download=$(wifi-meter fetch "[$SERVER6]:5000" --after 1000000 --terminate "$(cat /run/ap1.hostapd)")
await "the loss of the first access point" lost_first
printf '{"trial":"%s","sent_sha256":"%s","download":%s}\n' "$TRIAL" "$hash" "$download" | tee /share/figures.json
has_text /share/figures.json "\"sha256\":\"$hash\"" || fail "other bytes arrived than were sent"
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
