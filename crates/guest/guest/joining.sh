# shellcheck shell=bash
# Functions for trials in which slowhand joins access points by itself. Comes after box.sh.

# PROTECTION[N]: lines of hostapd's configuration of access point N, instead of WPA2 with the usual
# passphrase.
declare -A PROTECTION=()

wpa2() { printf 'wpa=2\nwpa_key_mgmt=WPA-PSK\nrsn_pairwise=CCMP\nwpa_passphrase=%s\n' "$1"; }
wpa3() { printf 'wpa=2\nwpa_key_mgmt=SAE\nrsn_pairwise=CCMP\nieee80211w=2\nsae_password=%s\n' "$PASSPHRASE"; }
unprotected() { echo 'wpa=0'; }

# transition: WPA2 and WPA3 at once.
transition() {
    printf 'wpa=2\nwpa_key_mgmt=WPA-PSK SAE\nrsn_pairwise=CCMP\nieee80211w=1\nwpa_passphrase=%s\n' "$PASSPHRASE"
}

# radio_on N SSID CHANNEL: as in box.sh, with PROTECTION. Each line of the log has the time of the clock.
radio_on() {
    local ns=ap$1
    {
        printf 'interface=wlan\ndriver=nl80211\nctrl_interface=/run/hostapd-%s\n' "$ns"
        printf 'ssid=%s\nhw_mode=%s\nchannel=%s\nieee80211n=0\n' "$2" "$(mode "$3")" "$3"
        echo "${PROTECTION[$1]:-$(wpa2 "$PASSPHRASE")}"
    } >"/run/$ns.conf"
    ip netns exec "$ns" hostapd -B -t -P "/run/$ns.hostapd" -f "$LOGS/$ns.hostapd" "/run/$ns.conf"
    await "the start of $ns" has_text "$LOGS/$ns.hostapd" AP-ENABLED
}

# networks SSID...: the configuration with these networks, all with the passphrase of the access points.
networks() {
    local ssid
    mkdir -p /etc/slowhand
    (umask 077 && echo "$PASSPHRASE" >/etc/slowhand/networks.psk)
    {
        echo 'peer_subflows = 8'
        echo '[wifi]'
        echo 'radio = "phy0"'
        for ssid in "$@"; do
            printf '[[wifi.network]]\nssid = "%s"\npsk_file = "/etc/slowhand/networks.psk"\n' "$ssid"
        done
    } >/etc/slowhand/slowhand.toml
}

# two_known_networks: two_access_points, both in the configuration. /run/before has the host as it is without
# slowhand.
two_known_networks() {
    two_access_points
    networks first second
    host >/run/before
}

# ends_hostapd N: ends hostapd of access point N, which sends a deauthentication.
ends_hostapd() {
    local hostapd
    hostapd=$(cat "/run/ap$1.hostapd")
    kill "$hostapd"
    await "the end of access point $1" has_ended "$hostapd"
    rm "$LOGS/ap$1.hostapd"
}

# host: what slowhand changes on a host, and restores.
host() {
    iw dev | grep -E '^phy|Interface|addr|type'
    ip -br address | tr -s ' '
    ip rule
    ip -4 route show table all | sed 's/ linkdown//'
    ip mptcp limits
    ip mptcp endpoint
    sysctl net.mptcp
    find /run -path '/run/slowhand/wifi*'
}

# start: `slowhand up`, with the options in $UP. Its process is in $daemon.
UP=()
start() {
    slowhand up "${UP[@]}" >>"$LOGS/slowhand" 2>&1 &
    daemon=$!
}

# stop: `slowhand down`.
stop() {
    slowhand why >"$LOGS/why"
    slowhand status >"$LOGS/status"
    kill -0 "$daemon" || fail "slowhand has ended by itself"
    slowhand down
    wait "$daemon"
}

# monitored SSID...: as `networks`, with a monitor interface.
monitored() {
    networks "$@"
    sed -i '1i monitor = true' /etc/slowhand/slowhand.toml
}

# download_on_a_walk: slowhand joins the access points of /scenario.toml by itself, and downloads while the
# scenario plays. Sets $download. What slowhand knows of its links meanwhile is in $LOGS/estimates.
download_on_a_walk() {
    scenario_access_points
    networks "${NAMES[@]}"
    start
    await "joining the first one" carries 1
    slowhand status >"$LOGS/status-before"
    # It ends with slowhand.
    watch_estimates &
    # shellcheck disable=SC2034 # trials print it
    download=$(scenario_download)
    slowhand status >"$LOGS/status-after"
}

# has_lease N: whether an interface of slowhand has an address of access point N, and the daemon routes over
# it.
has_lease() {
    local address
    address=$(interface_of "$1") && [ -n "$address" ] && ip rule | grep -q "from 10\.0\.$1\."
}

# interface_of N: the interface with an address of access point N.
interface_of() { ip -o -4 address show | grep -F " 10.0.$1." | tr -s ' ' | cut -d ' ' -f 2; }

# has_address N: whether an interface has an address of access point N.
has_address() { [ -n "$(interface_of "$1")" ]; }

# darkens N: what terminates the process in /run/apN.hostapd makes access point N dark. That of hostapd must
# not get to say goodbye.
darkens() {
    local hostapd
    hostapd=$(cat "/run/ap$1.hostapd")
    (
        trap 'kill -9 "$hostapd"; ip -n "ap$1" link set wlan down; exit' TERM
        while :; do sleep 1000 & wait; done
    ) &
    echo $! >"/run/ap$1.hostapd"
}

# lost_first: whether no interface is joined to the first access point.
lost_first() { ! slowhand status | grep "$(bssid_of 1)" | grep -q ': joined'; }

# joined_to N: the interface that is associated with access point N.
joined_to() {
    local path bssid
    bssid=$(bssid_of "$1")
    for path in /sys/class/net/slow-w*; do
        iw dev "${path##*/}" link 2>/dev/null | grep -q "^Connected to $bssid" && echo "${path##*/}" && return
    done
    return 1
}

# carries N: whether a packet to the server and back gets through over access point N.
carries() {
    local name
    name=$(joined_to "$1") && ping -q -c 1 -W 1 -I "$name" "$SERVER"
}

# carries_one: whether exactly one of two access points carries packets. Its number is in $joined then, and
# that of the other one in $other.
carries_one() {
    joined=1 other=2
    carries 1 || joined=2 other=1
    carries $joined && ! joined_to $other
}

# carries_none: whether no access point carries packets.
carries_none() { ! carries 1 && ! carries 2; }

# uptime_s, since BEGUN: seconds of the guest.
uptime_s() { cut -d ' ' -f 1 /proc/uptime; }
since() { echo "$1 $(uptime_s)" | awk '{ printf "%.2f", $2 - $1 }'; }

# on_channel N CHANNEL: whether access point N is on this channel.
on_channel() { ip netns exec "ap$1" iw dev wlan info | grep -q "channel $2 "; }

# mac_of N: address of the interface that is joined to access point N.
mac_of() { cat "/sys/class/net/$(joined_to "$1")/address"; }

# bssid_of N: address of access point N.
bssid_of() { ip netns exec "ap$1" cat /sys/class/net/wlan/address; }

# is_gone PROGRAM: whether no process has this name.
is_gone() { ! pidof "$1"; }

# reports TEXT: whether `slowhand status` has it. Without a pipe, which `grep -q` closes before the end.
reports() {
    slowhand status >"$LOGS/reported"
    has_text "$LOGS/reported" "$1"
}

# explains TEXT: whether `slowhand why` has it.
explains() {
    slowhand why >"$LOGS/explained"
    has_text "$LOGS/explained" "$1"
}

# held_out WHY: waits until `slowhand why` says that the link of access point 1 is held out for this reason.
held_out() { await "the reason: $1" explains "$(interface_of 1): held-out: $1"; }

# sent_to N: bytes that the server has sent to access point N.
sent_to() { ip netns exec server cat "/sys/class/net/ap$1/statistics/tx_bytes"; }

# download_joined BYTES AFTER: a download of this many bytes from the server over MPTCP. After AFTER bytes,
# hostapd of the first access point is killed. Writes /share/figures.json.
download_joined() {
    local before1 before2 hash figures
    head -c "$1" /dev/urandom >/run/content
    hash=$(sha256sum /run/content | cut -d ' ' -f 1)
    ip netns exec server wifi-meter serve "$SERVER:5000" /run/content &
    await "the server" has_listener
    before1=$(sent_to 1)
    before2=$(sent_to 2)
    say "downloading"
    figures=$(wifi-meter fetch "$SERVER:5000" --after "$2" --terminate "$(cat /run/ap1.hostapd)")
    [[ $figures == *"\"sha256\":\"$hash\""* ]] || fail "other bytes arrived than were sent: $figures"
    await "the loss of the first access point" lost_first
    printf '{"trial":"%s","sent_sha256":"%s","first_bytes":%s,"second_bytes":%s,"download":%s}\n' \
        "$TRIAL" "$hash" $(($(sent_to 1) - before1)) $(($(sent_to 2) - before2)) "$figures" \
        | tee /share/figures.json
}
