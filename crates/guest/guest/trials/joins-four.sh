# shellcheck shell=bash
# `slowhand up` joins four access points over one radio, one of them with WPA3, and one with WPA2 and WPA3.
# It refuses an open one with the name of a known network, one with another key, and one that offers only WPA2
# in a network that was joined with WPA3. The last one is joined once the configuration allows it.
TRIAL=joins-four
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# has_subflows: whether the server has an established subflow over each of the four access points. Their
# number is in /run/subflows.
has_subflows() {
    ip netns exec server ss -Htin state established "sport = :5000" >"$LOGS/subflows"
    grep -o '10\.0\.[1-4]\.[0-9]*' "$LOGS/subflows" | sort -u | wc -l >/run/subflows
    [ "$(cat /run/subflows)" -eq 4 ]
}

# all_subflows: waits for them.
all_subflows() { await "a subflow over each of four access points" has_subflows; }

PROTECTION[3]=$(transition)
PROTECTION[4]=$(wpa3)
PROTECTION[5]=$(unprotected)
PROTECTION[6]=$(wpa2 'another passphrase')

say "radios and access points"
radios 7
server
for n in 1 2 3 4; do access_point $n net$n 6 6mbit 5ms; done
access_point 5 net1 6 6mbit 5ms
access_point 6 locked 6 6mbit 5ms
# It comes back once its network was joined with WPA3.
access_point 7 net3 6 6mbit 5ms
kill "$(cat /run/ap7.hostapd)"
networks net1 net2 net3 net4 locked
host >/run/before
start
for n in 1 2 3 4; do await "joining network $n" has_lease $n; done
say "joined: $(ip -br -4 address show | grep slow-w | tr -s ' ' | tr '\n' ' ')"
await "the refusal of the open one" reports 'network net1 .*: refused; it is open'
await "the refusal of the key" reports 'network locked .*: heard; the key is wrong'
for n in 1 2 3 4; do before[n]=$(sent_to $n); done
all_subflows &
watcher=$!
download_joined 8000000 1000000
wait $watcher || fail "the access points never had four subflows at once"
for n in 1 2 3 4; do sent[n]=$(($(sent_to $n) - before[n])); done
say "an access point without WPA3 in a network that has had it"
radio_on 7 net3 6
await "the refusal of less security" reports 'network net3 .*: refused; it does not offer WPA3, with which'
[ "$(grep -c 'refused: it does not offer WPA3' "$LOGS/slowhand")" -eq 1 ] || fail "it was not reported once"
has_text /var/lib/slowhand/leases "^security 6e657433 wpa3" || fail "the security of net3 is not remembered"
(IFS=, && sed -i "s/}\$/,\"subflows\":$(cat /run/subflows),\"sent_bytes\":[${sent[*]}]}/" /share/figures.json)
for n in 5 6 7; do [ -z "$(interface_of $n)" ] || fail "access point $n was joined, which must not be"; done
sed -i '/^ssid = "net3"/a security = "wpa2"' /etc/slowhand/slowhand.toml
slowhand reload
await "joining the one without WPA3 where that is allowed" has_lease 7
say "the access point with another key"
attempts=$(grep -c 'wlan: STA .* IEEE 802.11: associated' "$LOGS/ap6.hostapd" || true)
said=$(grep -c 'ssid=locked.*the key is wrong\|the key is wrong.*ssid=locked' "$LOGS/slowhand" || true)
# The pause after the first attempt is 60 s, and after the second one 120 s.
[[ $attempts -ge 1 && $attempts -le 2 ]] || fail "$attempts attempts with the wrong key"
[ "$said" -eq 1 ] || fail "the wrong key was reported $said times"
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
cat /share/figures.json
