# shellcheck shell=bash
# Two access points, and a call over UDP with `[networks]`: 100 packets a second, each answered by the server.
# Its access point goes dark without a word, and once more says goodbye. Beside it is a call from the address
# of that access point, which slowhand leaves alone: it shows what the fault does.
TRIAL=joins-call
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# call_is_answered: whether the server answers a new flow.
call_is_answered() { [ -n "$(carrier)" ]; }

# carrier: the number of the access point over which new flows reach the server.
carrier() { wifi-meter call "$SERVER:7000" | sed -n 's/.*"last_from":"10\.0\.\([0-9]*\)\..*/\1/p'; }

# address_of N: the client's address in the network of access point N.
address_of() { ip -o -4 address show | sed -n "s/.* \(10\.0\.$1\.[0-9]*\).*/\1/p"; }

# call_without N: 600 packets. After 200 of them, the process in /run/apN.hostapd is terminated.
call_without() {
    wifi-meter call "$SERVER:7000" --packets 600 --after 200 --terminate "$(cat "/run/ap$1.hostapd")" \
        --beside "$(address_of "$1")"
}

# check N FIGURES: the call must have left access point N, and the one beside it must have been lost.
check() {
    echo "$2" | grep -q "\"first_from\":\"10\.0\.$1\..*\"last_from\":\"10\.0\.$((3 - $1))\." || fail "the call did not move: $2"
    echo "$2" | grep -q '"beside":{"first_from":"10[^}]*"received":[12][0-9][0-9],' || fail "the fault did nothing: $2"
}

two_known_networks
modprobe tun
echo '[networks]' >>/etc/slowhand/slowhand.toml
ip netns exec server wifi-meter echo "$SERVER:7000" &
echo=$!
start
for n in 1 2; do await "joining network $n" carries $n; done
await "a flow" call_is_answered

n=$(carrier)
say "access point $n goes dark"
darkens "$n"
dark=$(call_without "$n")
check "$n" "$dark"
radio_on "$n" "$([ "$n" = 1 ] && echo first || echo second)" 6
ip -n "ap$n" address replace "10.0.$n.1/24" dev wlan
await "the return of access point $n" carries "$n"

n=$(carrier)
say "access point $n says goodbye"
killed=$(call_without "$n")
check "$n" "$killed"
stop
kill $echo
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
printf '{"trial":"%s","dark":%s,"killed":%s}\n' "$TRIAL" "$dark" "$killed" | tee /share/figures.json
