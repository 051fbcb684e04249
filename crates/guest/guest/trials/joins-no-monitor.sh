# shellcheck shell=bash
# The configuration wants a monitor interface, and the driver of the radio offers none. slowhand joins two
# access points, says that the driver's counters are used instead, and survives the loss of one.
TRIAL=joins-no-monitor
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh
# shellcheck source=crates/guest/guest/driver.sh
. /lib/driver.sh

without_monitor
two_known_networks
monitored first second
iw phy phy0 info >"$LOGS/phy0"
! has_text "$LOGS/phy0" '[*] monitor' || fail "the radio lists monitor interfaces"
! iw phy phy0 interface add mon0 type monitor 2>"$LOGS/refused" || fail "the radio has a monitor interface"
has_text "$LOGS/refused" 'Operation not supported' || fail "a monitor is refused for another reason"

start
for n in 1 2; do await "joining network $n" has_lease $n; done
await "a warning" has_text "$LOGS/slowhand" 'the driver of phy0 offers no monitor interface'
for n in 1 2; do
    await "access point $n in status" reports "$(bssid_of $n).*driver's counters.*offers no monitor interface"
done
slowhand why >"$LOGS/why-joined"
[ "$(grep -c 'no monitor interface; .* losses and airtime are unknown' "$LOGS/why-joined")" -eq 2 ] \
    || fail "why does not say what follows"
slowhand doctor --json >"$LOGS/doctor" || true
has_text "$LOGS/doctor" 'monitor beside them: no; .*[.] without a monitor interface' \
    || fail "doctor does not say it"
download_joined 8000000 1000000
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
