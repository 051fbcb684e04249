# shellcheck shell=bash
# slowhand joins access points with good and bad DHCP servers: one that is silent, one that gives nonsense,
# two that give the same network, one whose address another host has taken, and one that refuses the last
# address.
TRIAL=joins-addresses
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# network_of N FIRST,LAST ROUTER PREFIX: access point N gives these addresses, and the server reaches them.
network_of() {
    ip -n "ap$1" address add "$3/24" dev wlan
    ip -n server route add "$4" via "10.1.$1.1" src "$SERVER"
    addresses "$1" "$2" "$3"
}

# address_of N: our address at access point N.
address_of() { ip -o -4 address show "$(joined_to "$1")" | tr -s ' ' | cut -d ' ' -f 4 | cut -d / -f 1; }

# logged N WHAT: whether the DHCP server of access point N has written this.
logged() { has_text "$LOGS/ap$1.dnsmasq" "$2"; }

say "radios and access points"
radios 6
server
for n in 1 2 3 4 5 6; do access_point $n net$n 6 6mbit 5ms; done
kill "$(cat /run/ap3.dnsmasq)"
network_of 4 127.0.5.10,127.0.5.20 127.0.5.1 127.0.5.0/24
network_of 5 192.168.1.64,192.168.1.95 192.168.1.1 192.168.1.64/27
network_of 6 192.168.1.128,192.168.1.159 192.168.1.1 192.168.1.128/27
networks net1 net2 net3 net4 net5 net6
host >/run/before
start
for n in 1 2 5 6; do await "joining network $n" carries $n; done
say "the same network twice: $(ip -br -4 address show | grep -F 192.168.1. | tr -s ' ' | tr '\n' ' ')"
for n in 3 4; do
    await "the warning about network $n" has_text "$LOGS/slowhand" "it gives no address (DHCP).*ssid=net$n"
    # The thread that joins writes the log first, and shows the rest of its turn afterwards.
    await "the reason in status of network $n" reports "network net$n .*it gives no address (DHCP)"
done
taken=$(address_of 2)
stop

say "another host has taken $taken meanwhile"
ip -n ap2 address add "$taken/32" dev wlan
start
await "another address" carries 2
[ "$(address_of 2)" != "$taken" ] || fail "the address of another host is used"
logged 2 DHCPDECLINE || fail "no address was declined"
stop

say "access point 1 gives other addresses"
before=$(grep -c DHCPNAK "$LOGS/ap1.dnsmasq" || true)
addresses 1 10.0.1.150,10.0.1.180 10.0.1.1
start
await "joining network 1 again" carries 1
[ "$(grep -c DHCPNAK "$LOGS/ap1.dnsmasq")" -gt "$before" ] || fail "the last address was not asked for"
address_of 1 | grep -q '^10\.0\.1\.1[5-8][0-9]$' || fail "the refused address is used"
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
declined=$(grep -c DHCPDECLINE "$LOGS/ap2.dnsmasq")
printf '{"trial":"%s","declined":%s}\n' "$TRIAL" "$declined" | tee /share/figures.json
