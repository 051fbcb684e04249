# shellcheck shell=bash
# A laptop is suspended while slowhand has joined two access points, and resumes. Both access points carry
# packets again, with the addresses that they had.
TRIAL=joins-suspend
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# addresses: those of slowhand's interfaces.
addresses() { ip -br -4 address show | grep slow-w | tr -s ' '; }

two_known_networks
start
for n in 1 2; do await "joining network $n" carries $n; done
before=$(addresses)
say "suspending for 8 s: $(cat /sys/power/state)"
slept=$(uptime_s)
echo +8 >/sys/class/rtc/rtc0/wakealarm
echo freeze >/sys/power/state || fail "the host was not suspended"
slept=$(since "$slept")
begun=$(uptime_s)
dmesg | tail -n 30 >"$LOGS/suspend"
say "suspended for $slept s"
has_text "$LOGS/suspend" 'PM: suspend exit' || fail "the host was not suspended"
for n in 1 2; do await "network $n after the suspend" carries $n; done
returns=$(since "$begun")
say "both carry packets again after $returns s"
[ "$(addresses)" = "$before" ] || fail "other addresses: $(addresses)"
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
printf '{"trial":"%s","returns_s":{"suspend":%s}}\n' "$TRIAL" "$returns" | tee /share/figures.json
