# shellcheck shell=bash
# Two access points, one of which associates, gives an address, and lets nothing through. slowhand does not
# use it, and says why. Then it is a captive portal, which redirects the check for the Internet. At last the
# portal opens, and the access point is used. systemd-resolved sends it no queries before.
TRIAL=joins-closed
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh
# shellcheck source=crates/guest/guest/beside.sh
. /lib/beside.sh

SITE=10.9.0.9

# site NAMESPACE STATUS...: a site in this namespace that answers the check with these lines.
site() {
    local ns=$1
    shift
    mkdir -p "/run/site-$ns/cgi-bin"
    printf '#!/bin/sh\nprintf "%s\\r\\n"\n' "$(printf '%s\\r\\n' "$@")" >"/run/site-$ns/cgi-bin/check"
    chmod +x "/run/site-$ns/cgi-bin/check"
    ip -n "$ns" address add $SITE/32 dev lo
    ip netns exec "$ns" busybox httpd -f -p $SITE:80 -h "/run/site-$ns" &
    await "the site in $ns" has_site "$ns"
}
has_site() { ip netns exec "$1" ss -Htln | grep -q "$SITE:80 "; }

# close N, open N: whether access point N forwards packets.
close() { ip netns exec "ap$1" sysctl -q net.ipv4.ip_forward=0; }
open() { ip netns exec "ap$1" sysctl -q net.ipv4.ip_forward=1; }

# download FILE: a download of 4 MB. The bytes that the server sent over access points 1 and 2 are in $sent.
download() {
    local before1 before2
    ip netns exec server wifi-meter serve "$SERVER:5000" /run/content &
    await "the server" has_listener
    before1=$(sent_to 1)
    before2=$(sent_to 2)
    say "downloading"
    wifi-meter fetch "$SERVER:5000" >"$1"
    sent=($(($(sent_to 1) - before1)) $(($(sent_to 2) - before2)))
    has_text "$1" "$hash" || fail "other bytes arrived than were sent"
}

# resolver_has N TEXT: whether systemd-resolved has this of the interface of access point N.
resolver_has() {
    local name
    name=$(interface_of "$1") && has_text "/run/systemd/resolve/netif/$(cat "/sys/class/net/$name/ifindex")" "$2"
}
has_name_server() { resolver_has "$1" "SERVERS=.*$SERVER"; }

# resolves N ANSWER: whether systemd-resolved sends queries over access point N, yes or no.
resolves() { resolver_has "$1" "DEFAULT_ROUTE=$2"; }
resolves_only_over_2() { resolves 1 no && resolves 2 yes; }

# resolved_over_1: waits for at most 30 s until names are resolved over access point 1.
resolved_over_1() {
    for _ in $(seq 150); do
        ! resolves 1 yes || return 0
        sleep 0.2
    done
    return 1
}

system_bus
resolved
# shellcheck disable=SC2034 # box.sh reads it
DHCP_OPTIONS=("6,$SERVER")
two_access_points
for n in 1 2; do ip -n "ap$n" route add $SITE via "10.1.$n.2"; done
site server 'Status: 204 No Content'
networks first second
sed -i "1i portal_url = \"http://$SITE/cgi-bin/check\"" /etc/slowhand/slowhand.toml
head -c 4000000 /dev/urandom >/run/content
hash=$(sha256sum /run/content | cut -d ' ' -f 1)
close 1
start
await "joining access point 2" carries 2
await "the address of access point 1" has_address 1
for n in 1 2; do await "the name server of access point $n" has_name_server $n; done
await "that names are resolved over access point 2 alone" resolves_only_over_2
resolved_over_1 &
watcher=$!
held_out 'the check for the Internet gets no reply over it, but passes over'
download /run/nothing
[ "${sent[0]}" -lt 100000 ] || fail "the access point that lets nothing through was used"
nothing="{\"first_bytes\":${sent[0]},\"second_bytes\":${sent[1]},\"download\":$(cat /run/nothing)}"

say "access point 1 has a captive portal"
site ap1 'Status: 302 Found' 'Location: http://login.example/'
portal=$!
# It is checked every 30 s.
sleep 15
held_out 'a captive portal blocks it'
! wait $watcher || fail "names were resolved over a link that leads nowhere, or to a portal"
resolves_only_over_2 || fail "the captive portal answers for the names of others"
download /run/portal
[ "${sent[0]}" -lt 100000 ] || fail "the access point with a captive portal was used"
portal_json="{\"first_bytes\":${sent[0]},\"second_bytes\":${sent[1]},\"download\":$(cat /run/portal)}"

say "the portal opens"
begun=$(uptime_s)
kill $portal
ip -n ap1 address del $SITE/32 dev lo
open 1
sleep 15
await "that access point 1 is held out no longer" explains "$(interface_of 1): \(use\|demote\): "
returns=$(since "$begun")
await "that names are resolved over access point 1" resolves 1 yes
await "a packet over access point 1" carries 1
kill -9 "$(cat /run/ap2.hostapd)"
await "a way to the server over access point 1" ping -q -c 1 -W 1 "$SERVER"
stop
printf '{"trial":"%s","nothing":%s,"portal":%s,"returns_s":{"portal":%s}}\n' "$TRIAL" "$nothing" "$portal_json" "$returns" \
    | tee /share/figures.json
