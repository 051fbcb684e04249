# shellcheck shell=bash
# systemd runs slowhand by its unit as it is installed, beside NetworkManager and systemd-resolved. In that
# sandbox it joins two access points, measures them with a monitor interface, and survives the loss of one. It
# is reloaded, killed, stopped by a signal until the watchdog acts, and ended.
TRIAL=joins-unit
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh
# shellcheck source=crates/guest/guest/beside.sh
. /lib/beside.sh

UNIT=/lib/systemd/system/slowhand.service

# The numbers of capabilities (linux/capability.h).
declare -A NUMBERS=([CAP_NET_ADMIN]=12 [CAP_NET_RAW]=13 [CAP_PERFMON]=38 [CAP_BPF]=39)

# programs_apart: a control group for all programs of the guest, as a host of systemd has one for each.
# Without it, Linux 6.12 crashes after slowhand, which is in such a group, has added a subflow to a connection
# of a program that is in none. Presumably it releases slowhand's group twice (`mptcp_attach_cgroup`).
programs_apart() {
    echo +memory >/sys/fs/cgroup/cgroup.subtree_control
    mkdir /sys/fs/cgroup/programs
    echo $$ >/sys/fs/cgroup/programs/cgroup.procs
}

# manager: systemd as the first process of a namespace. It finds no units but slowhand's and some empty ones,
# so it leaves devices, links and settings of the guest alone. Its process is in $manager.
manager() {
    local name
    ln /usr/local/bin/slowhand /usr/local/bin/slowhandd /usr/bin/
    mkdir -p /run/units/slowhand.service.d /var/tmp
    for name in default sysinit basic shutdown network-pre; do
        printf '[Unit]\nDefaultDependencies=no\n' >"/run/units/$name.target"
    done
    ln -s $UNIT /run/units/
    printf '[Service]\nStandardOutput=append:%s\n' "$LOGS/slowhand" >/run/units/slowhand.service.d/log.conf
    # Without it, systemd takes this for the first boot, and enables all units.
    echo 0123456789abcdef0123456789abcdef >/etc/machine-id
    (
        echo "$BASHPID" >/sys/fs/cgroup/cgroup.procs
        export SYSTEMD_UNIT_PATH=/run/units container=guest
        exec unshare --pid --fork --mount --mount-proc /lib/systemd/systemd --system --log-target=console
    ) &
    await "the service manager" test -S /run/systemd/private
    manager=$(pidof systemd)
}

# inside COMMAND...: runs a command where systemd is process 1, in no sandbox.
inside() { timeout 120 nsenter -t "$manager" -p -m "$@"; }

# slowhand COMMAND...: the program, as a user has it.
slowhand() { inside /usr/bin/slowhand "$@"; }

# property NAME: what systemd knows of the service.
property() { inside systemctl show --value -p "$1" slowhand; }

# processes: those of the service.
processes() { cat /sys/fs/cgroup/system.slice/slowhand.service/cgroup.procs; }

# process NAME: the only one of the service with this name.
process() {
    local process
    for process in $(processes); do
        [ "$(cat "/proc/$process/comm")" != "$1" ] || echo "$process"
    done
}

# confined NAME: fails unless this process of the service has the rights that the unit gives, a filter of
# system calls, and a file system that it cannot change.
confined() {
    local capability capabilities mask=0 status
    read -ra capabilities < <(sed -n 's/^CapabilityBoundingSet=//p' $UNIT)
    for capability in "${capabilities[@]}"; do mask=$((mask | 1 << NUMBERS[$capability])); done
    status=/proc/$(process "$1")/status
    cat "$status" >"$LOGS/status-$1"
    has_text "$LOGS/status-$1" "^CapBnd:.$(printf %016x $mask)\$" || fail "$1 has other rights than the unit says"
    has_text "$LOGS/status-$1" '^Seccomp:.2$' || fail "$1 has no filter of system calls"
    has_text "$LOGS/status-$1" '^NoNewPrivs:.1$' || fail "$1 can gain rights"
    ! nsenter -t "$(process "$1")" -m touch /etc/changed 2>/dev/null || fail "$1 can change the file system"
    nsenter -t "$(process "$1")" -m touch /run/slowhand/changed || fail "$1 cannot write at all"
    rm /run/slowhand/changed
}

# carries_both: whether both access points carry packets.
carries_both() { carries 1 && carries 2; }

# begins WHAT: from now on, the time until `ended` is that of WHAT.
begins() { what=$1 begun=$(uptime_s); }
ended() {
    say "$what after $(since "$begun") s"
    TIMES+=("\"$what\":$(since "$begun")")
}
TIMES=()

# measured N: whether status and why say that access point N is measured on its frames.
measured() {
    reports "$(bssid_of "$1").*measured on its frames" \
        && explains "$(interface_of "$1"): .* frames got through at the first attempt"
}

# has_restarted TIMES: whether systemd has started it so often again, and it is ready.
has_restarted() { [ "$(property NRestarts) $(property ActiveState)" = "$1 active" ]; }

# remember: $former has the processes of the service from now on.
remember() {
    mapfile -t former < <(processes)
    [ ${#former[@]} -ge 2 ] || fail "wpa_supplicant is not among the processes of the service"
}

# gone: fails unless those of $former have ended.
gone() {
    local process
    for process in "${former[@]}"; do has_ended "$process" || fail "process $process has outlived the service"; done
}

# restarted TIMES: waits until it has, and both access points carry packets. Nothing of the service before may
# be left.
restarted() {
    within 30 "restart $1" has_restarted "$1"
    gone
    within 60 "joining both again" carries_both
    ended
    arranged >/run/arranged-again
    diff /run/arranged /run/arranged-again || fail "something was left over, or is missing"
}

# connected: whether the user's connection is there.
connected() { has_state wlan0 100; }

# the_host: without the P2P device, which NetworkManager's `wpa_supplicant` makes anew with each connection.
the_host() { host | sed '/^\t\taddr/{N;/P2P-device/d}'; }

# arranged: the host while both are joined, whichever was first.
arranged() {
    the_host | sed -E '/^\t\taddr|^.run/d; s/slow-w[0-9]+/slow-w/g; s/(lookup|table|metric) [0-9]+/\1/g' | sort
}

# joins SSID: how often slowhand has joined this network.
joins() { grep -c "joined ssid=$1 " "$LOGS/slowhand"; }

# reloads SSID...: with these networks in the configuration.
reloads() {
    networks "$@"
    inside systemctl reload slowhand
    [ "$(process slowhandd) $(property NRestarts)" = "$daemon 0" ] || fail "a reload has started another process"
}

# shellcheck disable=SC2034 # box.sh reads it
DHCP_OPTIONS=("6,$SERVER")
programs_apart
two_access_points
networks first second
system_bus
resolved
network_manager
saved_network first 1
within 30 "the user's connection" connected
the_host >/run/before
manager

say "starting"
begins started
inside systemctl start slowhand
ended
begins joined
within 60 "joining both" carries_both
ended
arranged >/run/arranged
inside systemctl status slowhand --no-pager >"$LOGS/status-of-unit"
for name in slowhandd wpa_supplicant; do confined $name; done
ls -l "/proc/$(process wpa_supplicant)/fd" >"$LOGS/open-files"
has_text "$LOGS/open-files" ' /dev/rfkill$' || fail "wpa_supplicant cannot see whether the radio is blocked"
slowhand status >"$LOGS/status-joined"
slowhand doctor >"$LOGS/doctor" || fail "doctor says that slowhand does not work"
iw dev slowhand0 info >"$LOGS/monitor"
has_text "$LOGS/monitor" 'type monitor' || fail "slowhand has created no monitor interface"
for name in slow-w1 slow-w2; do
    within 5 "that NetworkManager leaves $name alone" has_state $name 10
    state=/run/systemd/resolve/netif/$(cat /sys/class/net/$name/ifindex)
    within 5 "the name server of $name" has_text "$state" "$SERVER"
done

within 60 "a measurement on the monitor interface" measured 2 &
watcher=$!
download_joined 8000000 1000000
wait $watcher
[ "$(sed -n 's/.*"second_bytes":\([0-9]*\).*/\1/p' /share/figures.json)" -gt 3500000 ] \
    || fail "the download did not continue over the second access point"
mv /share/figures.json /run/download
radio_on 1 first 6
within 60 "joining the first again" carries_both
within 60 "the user's connection again" connected

say "reloading"
daemon=$(process slowhandd)
joined="$(joins first)"
reloads first second third
within 30 "the network that was added" reports 'network third: absent'
reloads first
within 30 "that the removed network is left" eval '! joined_to 2'
carries 1 >/dev/null || fail "the network which has not changed was left"
reloads first second
within 30 "joining the network that was added again" carries_both
[ "$(joins first)" = "$joined" ] || fail "the network which has not changed was joined again"

say "killing all processes of the service"
remember
begins killed
inside systemctl kill -s KILL slowhand
restarted 1

say "stopping the daemon, until the watchdog acts"
remember
begins hung
kill -STOP "$(process slowhandd)"
restarted 2

say "ending the service"
slowhand why >"$LOGS/why"
remember
begins stopped
inside systemctl stop slowhand
ended
gone
[ "$(property ActiveState) $(property Result)" = 'inactive success' ] || fail "the service has failed"
[ "$(stat -c %a /var/lib/slowhand)" = 700 ] || fail "others may enter the state directory"
the_host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
(IFS=, && sed "s/}}\$/},\"unit_s\":{${TIMES[*]}}}/" /run/download) | tee /share/figures.json
