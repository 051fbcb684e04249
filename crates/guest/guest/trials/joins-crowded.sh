# shellcheck shell=bash
# The driver allows two stations, and interfaces of other programs take both places, then one, then none.
# slowhand says so, joins one access point at a time, and both once it can. At last the driver refuses one
# interface for a reason that no list of its limits shows.
TRIAL=joins-crowded
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh
# shellcheck source=crates/guest/guest/driver.sh
. /lib/driver.sh

# refused NAME WHY: fails unless the kernel refuses to set an interface up for this reason.
refused() {
    ! ip link set "$1" up 2>"$LOGS/refused" || fail "the driver allows $1"
    has_text "$LOGS/refused" "$2" || fail "$1 is refused for another reason: $(cat "$LOGS/refused")"
}

# joins N: waits until slowhand has joined N times since the trial began. It reads only the log, which takes
# little of the guest's time.
joins() { await "join number $1" has_joined "$1"; }
has_joined() { [ "$(grep -c '^info: joined ' "$LOGS/slowhand")" -ge "$1" ]; }

# says_doctor TEXT: whether doctor has it.
says_doctor() {
    slowhand doctor --json >"$LOGS/doctor" || true
    has_text "$LOGS/doctor" "$1"
}

# returned WHAT BEGUN: writes down how long it took.
returned() {
    say "$1 after $(since "$2") s"
    RETURNS+=("\"$1\":$(since "$2")")
}
RETURNS=()
ssids=('' first second)

few_stations 2
two_known_networks
iw phy phy0 info >"$LOGS/phy0"
has_text "$LOGS/phy0" 'managed, .* <= 2,' || fail "the radio lists another limit"
say "both places are taken"
ip link set wlan0 up
iw phy phy0 interface add mine type managed addr 02:77:00:00:00:01
iw phy phy0 interface add third type managed addr 02:77:00:00:00:02
ip link set mine up
refused third 'Device or resource busy'
iw dev third del
start
await "the reason in status" reports 'the driver refuses the interface slow-w0 (.*busy.*) beside mine, wlan0'
says_doctor 'nothing is left for slowhand' || fail "doctor does not say that nothing is left"

say "one place is free"
begun=$(uptime_s)
ip link set mine down
joins 1
await "that one carries packets" carries_one
returned one "$begun"
reports "network ${ssids[$other]} .*no interface is left for it: the card can join 1 now" \
    || fail "status does not say why there is only one"
says_doctor '(wlan0).* slowhand can join 1 access point at a time' \
    || fail "doctor does not say that one is left"
begun=$(uptime_s)
kill "$(cat "/run/ap$joined.hostapd")"
joins 2
await "that the other one carries packets" carries "$other"
returned other "$begun"
! has_text "$LOGS/slowhand" 'refuses the interface slow-w[1-8]' || fail "it tried what cannot be"

say "both places are free"
radio_on "$joined" "${ssids[$joined]}" 6
begun=$(uptime_s)
ip link set wlan0 down
joins 3
for n in 1 2; do await "that access point $n carries packets" carries $n; done
returned both "$begun"
says_doctor '2 access points at once' || fail "doctor does not say that two are possible"
mac=$(mac_of 2)
stop

say "the driver refuses one interface for its address"
# An IBSS has a limit of its own, so it takes no place of a station.
iw phy phy0 interface add twin type ibss addr "$mac"
ip link set twin up
start
joins 4
await "that access point 1 carries packets" carries 1
await "the refusal" reports 'network second .*the driver refuses the interface slow-w.* beside twin'
carries 1 || fail "the refusal cost the other access point"
begun=$(uptime_s)
iw dev twin del
joins 5
for n in 1 2; do await "that access point $n carries packets again" carries $n; done
returned twin "$begun"
stop
iw dev mine del
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
(IFS=, && printf '{"trial":"%s","returns_s":{%s}}\n' "$TRIAL" "${RETURNS[*]}") | tee /share/figures.json
