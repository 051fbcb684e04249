# shellcheck shell=bash
# `slowhand up` joins two access points by itself, over one radio: a download, measured with a monitor
# interface of its own, and the loss of one. A reload during a download keeps what has not changed. A stop and
# a kill leave the host as it was.
TRIAL=joins
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# measured N: waits until status and why say that access point N is measured on its frames.
measured() {
    await "the source in status" reports "$(bssid_of "$1").*measured on its frames"
    await "a loss in why" explains "$(interface_of "$1"): .* frames got through at the first attempt"
}

# subflows: the client's ends of the download's subflows, as the server has them.
subflows() { ip netns exec server ss -Htn state established 'sport = :5000' | awk '{ print $4 }' | sort; }
has_two_subflows() { [ "$(subflows | wc -l)" -eq 2 ]; }

# joins: how often slowhand has joined an access point.
joins() { grep -c 'joined ssid=' "$LOGS/slowhand"; }

two_known_networks
networks first second
start
for n in 1 2; do await "joining network $n" has_lease $n; done
say "joined: $(ip -br -4 address show | grep slow-w | tr -s ' ' | tr '\n' ' ')"
iw dev slowhand0 info >"$LOGS/monitor" || true
has_text "$LOGS/monitor" 'type monitor' || fail "slowhand has created no monitor interface"
measured 2 &
watcher=$!
download_joined 8000000 1000000
wait $watcher || fail "no measurement came from the monitor interface"
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"

say "killing slowhand"
radio_on 1 first 6
start
for n in 1 2; do await "joining network $n again" has_lease $n; done
await "the monitor interface again" test -e /sys/class/net/slowhand0

say "reloading while a download runs"
head -c 60000000 /dev/urandom >/run/content
ip netns exec server wifi-meter serve "$SERVER:5000" /run/content --part &
await "the server" has_listener
wifi-meter fetch "$SERVER:5000" --seconds 15 >/run/reloaded &
fetch=$!
await "a subflow over each access point" has_two_subflows
subflows >/run/subflows-before
before=$(joins)
networks first second third
slowhand reload
await "the network that was added" reports 'network third: absent'
subflows >/run/subflows-after
diff /run/subflows-before /run/subflows-after || fail "a subflow was lost by a reload"
networks first third
slowhand reload
await "that the removed network is left" eval '! joined_to 2'
wait $fetch || fail "the download has broken"
await "that the network which has not changed is joined" has_lease 1
[ "$(joins)" -eq "$before" ] || fail "something was joined again"
networks first second
slowhand reload
await "joining the network that was added again" has_lease 2
[ "$(joins)" -eq $((before + 1)) ] || fail "more than the added network was joined"
kill -9 $daemon
wait $daemon || true
await "the end of wpa_supplicant" is_gone wpa_supplicant
slowhand down
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed after it was killed"
