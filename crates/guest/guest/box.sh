# shellcheck shell=bash
# Functions for scripts in the guest: radios, access points, a client, and a server behind the access points.
# A script begins with `. /lib/box.sh`.
#
#   client          the first namespace: radio phy0 with the interfaces sta1, sta2, … and mon0
#   ap1, ap2, …     one namespace for each access point: radio phy1, phy2, …, hostapd and dnsmasq
#   server          one namespace: 10.9.0.1, behind every access point by a link of its own
#
# Access point N has the network 10.0.N.0/24 and the address 10.0.N.1 in it.

PASSPHRASE='correct horse battery'
SERVER=10.9.0.1
LOGS=/share/logs
mkdir -p $LOGS

say() { echo "box: $*"; }
fail() {
    say "$*"
    exit 1
}

# await WHAT COMMAND...: runs a command until it succeeds, at most 400 times, 50 ms of the guest's time apart.
await() {
    local what=$1 tries=0
    shift
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -le 400 ] || fail "$what did not happen"
        sleep 0.05
    done
}

has_text() { grep -q "$2" "$1"; }

# radios N: a client's radio, phy0, and N for access points. One channel at a time on each.
radios() {
    modprobe mac80211_hwsim radios=$(($1 + 1)) channels=1
    await "the last radio" test -e "/sys/class/ieee80211/phy$1"
    iw reg set DE
}

# server: the namespace of the server. Comes before access points.
server() {
    ip netns add server
    ip -n server link set lo up
    ip -n server address add $SERVER/32 dev lo
    ip netns exec server sysctl -q net.ipv4.ip_forward=0
    ip -n server mptcp limits set subflows 8 add_addr_accepted 8
}

# access_point N SSID CHANNEL RATE DELAY: access point N with its own wire to the server, which carries RATE
# and takes DELAY in each direction.
access_point() {
    local n=$1 ssid=$2 channel=$3 rate=$4 delay=$5 ns=ap$1 wlan
    ip netns add "$ns"
    ip -n "$ns" link set lo up
    iw phy "phy$n" set netns name "$ns"
    wlan=$(ip netns exec "$ns" ls "/sys/class/ieee80211/phy$n/device/net")
    ip -n "$ns" link set "$wlan" name wlan
    ip netns exec "$ns" sysctl -q net.ipv4.ip_forward=1
    ip -n "$ns" link add wire type veth peer name "ap$n" netns server
    ip -n "$ns" address add "10.1.$n.1/24" dev wire
    ip -n "$ns" link set wire up
    ip -n server address add "10.1.$n.2/24" dev "ap$n"
    ip -n server link set "ap$n" up
    ip -n "$ns" route add $SERVER via "10.1.$n.2"
    ip -n server route add "10.0.$n.0/24" via "10.1.$n.1" src $SERVER
    ip netns exec server tc qdisc add dev "ap$n" root netem rate "$rate" delay "$delay" limit 200
    ip netns exec "$ns" tc qdisc add dev wire root netem delay "$delay" limit 1000
    radio_on "$n" "$ssid" "$channel"
    ip -n "$ns" address add "10.0.$n.1/24" dev wlan
    ip netns exec "$ns" dnsmasq --conf-file=/dev/null --user=root --port=0 --interface=wlan --bind-interfaces \
        --dhcp-range="10.0.$n.10,10.0.$n.99,1h" --dhcp-option="3,10.0.$n.1" --dhcp-authoritative --no-ping \
        --dhcp-leasefile="/run/$ns.leases" --pid-file="/run/$ns.dnsmasq" --log-facility="$LOGS/$ns.dnsmasq"
}

# radio_on N SSID CHANNEL: starts hostapd of access point N. Its process is in /run/apN.hostapd.
# Without 802.11n: mac80211 hides the rates of aggregated frames.
radio_on() {
    local ns=ap$1
    cat >"/run/$ns.conf" <<HOSTAPD
interface=wlan
driver=nl80211
ctrl_interface=/run/hostapd-$ns
ssid=$2
hw_mode=g
channel=$3
ieee80211n=0
wpa=2
wpa_key_mgmt=WPA-PSK
rsn_pairwise=CCMP
wpa_passphrase=$PASSPHRASE
HOSTAPD
    ip netns exec "$ns" hostapd -B -P "/run/$ns.hostapd" -f "$LOGS/$ns.hostapd" "/run/$ns.conf"
    await "the start of $ns" has_text "$LOGS/$ns.hostapd" AP-ENABLED
}

# frequency CHANNEL: MHz of a channel in the band of 2.4 GHz.
frequency() { echo $((2407 + 5 * $1)); }

# interfaces N CHANNEL: N managed interfaces, sta1 to staN, on the client's one radio, and a monitor.
interfaces() {
    local n old
    old=$(ls /sys/class/ieee80211/phy0/device/net)
    for n in $(seq "$1"); do
        iw phy phy0 interface add "sta$n" type managed
    done
    iw phy phy0 interface add mon0 type monitor
    iw dev "$old" del
    ip link set mon0 up
}

# join CHANNEL SSID...: one wpa_supplicant joins the first network with sta1, the second with sta2, …
join() {
    local channel=$1 n=0 ssid arguments=()
    shift
    for ssid in "$@"; do
        n=$((n + 1))
        cat >"/run/sta$n.conf" <<SUPPLICANT
ctrl_interface=/run/wpa_supplicant
network={
    ssid="$ssid"
    psk="$PASSPHRASE"
    scan_freq=$(frequency "$channel")
    freq_list=$(frequency "$channel")
}
SUPPLICANT
        [ $n -eq 1 ] || arguments+=(-N)
        arguments+=(-i "sta$n" -c "/run/sta$n.conf")
    done
    wpa_supplicant -B -P /run/wpa_supplicant.pid -f $LOGS/wpa_supplicant "${arguments[@]}"
    for n in $(seq "$n"); do
        await "the association of sta$n" has_text $LOGS/wpa_supplicant "sta$n: CTRL-EVENT-CONNECTED"
    done
}

# lease N: an address for staN, in $ip, with its gateway in $router. udhcpc stays and renews it.
lease() {
    udhcpc -i "sta$1" -s /lib/udhcpc.sh -t 10 -T 1 -n -q >"$LOGS/sta$1.udhcpc" 2>&1 || fail "no lease for sta$1"
    # shellcheck source=/dev/null
    . "/run/lease-sta$1"
}

# shellcheck disable=SC2154 # the lease sets ip and router
# source_route N: packets from the address of staN leave by staN.
source_route() {
    # shellcheck source=/dev/null
    . "/run/lease-sta$1"
    ip route add default via "$router" dev "sta$1" table "10$1"
    ip rule add from "$ip" table "10$1" priority "10$1"
}

# received NAME: bytes that an interface has received.
received() { cat "/sys/class/net/$1/statistics/rx_bytes"; }

# two_networks: two access points on one channel, and a client on both with a lease from each.
two_networks() {
    say "radios and access points"
    radios 2
    server
    access_point 1 first 6 12mbit 5ms
    access_point 2 second 6 12mbit 5ms
    say "joining both"
    interfaces 2
    join 6 first second
    lease 1
    lease 2
    say "two leases: $(ip -br -4 address show | grep sta | tr -s ' ' | tr '\n' ' ')"
}

# download_and_kill BYTES AFTER: a download of this many bytes from the server over MPTCP. After AFTER bytes,
# hostapd of the first access point is killed. Writes /share/figures.json.
download_and_kill() {
    local before1 before2 hash figures
    head -c "$1" /dev/urandom >/run/content
    hash=$(sha256sum /run/content | cut -d ' ' -f 1)
    ip netns exec server wifi-meter serve $SERVER:5000 /run/content &
    await "the server" has_listener
    before1=$(received sta1)
    before2=$(received sta2)
    say "downloading"
    figures=$(wifi-meter fetch $SERVER:5000 --after "$2" --terminate "$(cat /run/ap1.hostapd)")
    [ "$(received mon0)" -gt 0 ] || fail "the monitor heard nothing"
    await "the loss of the first access point" has_text $LOGS/wpa_supplicant 'sta1: CTRL-EVENT-DISCONNECTED'
    printf '{"trial":"%s","sent_sha256":"%s","first_bytes":%s,"second_bytes":%s,"download":%s}\n' \
        "$TRIAL" "$hash" $(($(received sta1) - before1)) $(($(received sta2) - before2)) "$figures" \
        | tee /share/figures.json
}

has_listener() { ip netns exec server ss -Htln | grep -q ":5000 "; }
