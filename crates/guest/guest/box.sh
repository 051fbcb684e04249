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
# Further options that the DHCP servers of access points give, as dnsmasq takes them.
DHCP_OPTIONS=()

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

# within SECONDS WHAT COMMAND...: as `await`, for this long, with a look once a second.
within() {
    local until=$((SECONDS + $1)) event=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $until ] || fail "$event did not happen"
        sleep 1
    done
}

has_text() { grep -q "$2" "$1"; }

# Further parameters of the radios' driver.
RADIO_OPTIONS=()

# Channels that each radio can serve at a time.
CHANNELS=1

# regulatory: lets the kernel know the rules of countries. Comes before `radios`. Without it, `iw reg set` has
# no effect.
regulatory() {
    ln -sf regulatory.db-debian /lib/firmware/regulatory.db
    ln -sf regulatory.db.p7s-debian /lib/firmware/regulatory.db.p7s
}

# has_country COUNTRY: whether its rules hold.
has_country() { iw reg get | grep -q "^country $1:"; }

# radios N: a client's radio, phy0, and N for access points.
radios() {
    modprobe mac80211_hwsim radios=$(($1 + 1)) "channels=$CHANNELS" "${RADIO_OPTIONS[@]}"
    await "the last radio" test -e "/sys/class/ieee80211/phy$1"
    iw reg set DE
}

# medium: the air between the radios, from /scenario.toml. Comes after `radios` and before access points: the
# kernel gives frames only of those radios that it has not moved to other namespaces yet.
medium() {
    wifi-medium run /scenario.toml --truth /run/truth >$LOGS/medium 2>&1 &
    MEDIUM=$!
    await "the registration of the medium" registered_or_dead
    has_text $LOGS/medium registered || fail "the medium has failed: $(tail -n 1 $LOGS/medium)"
}

registered_or_dead() { has_text $LOGS/medium registered || ! kill -0 "$MEDIUM"; }

# walk: the scenario begins. Until then the client stands where its walk begins.
walk() {
    kill -USR1 "$MEDIUM"
    await "the beginning of the scenario" has_text /run/truth begun
}

# medium_end: ends the medium, and fails if it has ended before: without it, the kernel delivers every frame.
# What happened on the air is in /share/truth then.
medium_end() {
    kill -TERM "$MEDIUM" || fail "the medium has ended by itself: $(tail -n 1 $LOGS/medium)"
    wait "$MEDIUM" || fail "the medium has failed: $(tail -n 1 $LOGS/medium)"
    has_text /run/truth ended || fail "the medium has not written its end"
    cp /run/truth /share/truth
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
    addresses "$n" "10.0.$n.10,10.0.$n.99" "10.0.$n.1"
}

# has_ended PROCESS: whether it has.
has_ended() { [ ! -e "/proc/$1" ]; }

# addresses N FIRST,LAST ROUTER: access point N gives these addresses and this router, in place of others.
# $LEASE: the seconds of a lease, instead of an hour.
addresses() {
    local ns=ap$1 log="$LOGS/ap$1.dnsmasq" old
    if [ -e "/run/$ns.dnsmasq" ]; then
        old=$(cat "/run/$ns.dnsmasq")
        kill "$old"
        await "the end of dnsmasq of $ns" has_ended "$old"
    fi
    ip netns exec "$ns" dnsmasq --conf-file=/dev/null --user=root --port=0 --interface=wlan --bind-interfaces \
        --dhcp-range="$2,${LEASE:-1h}" --dhcp-option="3,$3" "${DHCP_OPTIONS[@]/#/--dhcp-option=}" --dhcp-authoritative --no-ping \
        --dhcp-leasefile="/run/$ns.leases" --pid-file="/run/$ns.dnsmasq" --log-facility="$log"
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
hw_mode=$(mode "$3")
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

# frequency CHANNEL: MHz of a channel. Those from 36 on are in the band of 5 GHz.
frequency() { echo $((($1 < 36 ? 2407 : 5000) + 5 * $1)); }

# mode CHANNEL: its hw_mode of hostapd.
mode() { if [ "$1" -lt 36 ]; then echo g; else echo a; fi; }

# interfaces N: N managed interfaces, sta1 to staN, on the client's one radio, and a monitor. Each has an
# address of its own: the kernel has only two for a radio.
interfaces() {
    local n old
    old=$(ls /sys/class/ieee80211/phy0/device/net)
    for n in $(seq "$1"); do
        iw phy phy0 interface add "sta$n" type managed addr "$(printf '02:53:00:00:00:%02x' "$n")"
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

# The channel of the second one of `two_access_points`.
SECOND_CHANNEL=6

# two_access_points: two, the first one on channel 6, each with a wire of its own to the server.
two_access_points() {
    say "radios and access points"
    radios 2
    server
    access_point 1 first 6 12mbit 5ms
    access_point 2 second "$SECOND_CHANNEL" 12mbit 5ms
}

# two_networks: two access points on one channel, and a client on both with a lease from each.
two_networks() {
    two_access_points
    say "joining both"
    interfaces 2
    join 6 first second
    lease 1
    lease 2
    say "two leases: $(ip -br -4 address show | grep sta | tr -s ' ' | tr '\n' ' ')"
}

# scenario_access_points: radios, medium, access points and their wires as in /scenario.toml. The names are
# the networks' names. Sets $COUNT, $NAMES, $SECONDS_OF_RUN, and $CHANNEL to that of the last one.
scenario_access_points() {
    local n name channel rate delay
    wifi-medium wires /scenario.toml >/run/wires 2>/run/wrong || fail "$(tr '\n' ' ' </run/wrong)"
    SECONDS_OF_RUN=$(sed -n 's/^seconds //p' /run/wires)
    COUNT=$(grep -vc '^seconds' /run/wires)
    NAMES=()
    say "radios, the air and access points"
    radios "$COUNT"
    medium
    server
    while read -r n name channel rate delay; do
        [ "$n" != seconds ] || break
        access_point "$n" "$name" "$channel" "$rate" "$delay"
        NAMES+=("$name")
        CHANNEL=$channel
    done </run/wires
}

# scenario_networks: scenario_access_points, and a client that joins all of them, each with an interface of
# its own. All access points must have one channel.
scenario_networks() {
    local n
    scenario_access_points
    say "joining ${NAMES[*]}"
    interfaces "$COUNT"
    join "$CHANNEL" "${NAMES[@]}"
    for n in $(seq "$COUNT"); do lease "$n"; done
    say "leases: $(ip -br -4 address show | grep sta | tr -s ' ' | tr '\n' ' ')"
}

# kernel_paths: an endpoint and a source route for each interface, and the kernel's own path manager.
# shellcheck disable=SC2154 # source_route sets ip
kernel_paths() {
    local n
    ip mptcp limits set subflows 8 add_addr_accepted 8
    for n in $(seq "$COUNT"); do
        source_route "$n"
        ip mptcp endpoint add "$ip" dev "sta$n" subflow
    done
}

# slowhand_up: the daemon, with a link for each interface. Its process is in $DAEMON.
slowhand_up() {
    local n
    mkdir -p /etc/slowhand
    echo 'peer_subflows = 8' >/etc/slowhand/slowhand.toml
    for n in $(seq "$COUNT"); do
        printf '[[link]]\ninterface = "sta%s"\nkind = "wifi"\nchannel = %s\n' "$n" "$CHANNEL"
    done >>/etc/slowhand/slowhand.toml
    slowhand up >$LOGS/slowhand 2>&1 &
    DAEMON=$!
    for n in $(seq "$COUNT"); do await "sta$n as a link" lists "$n"; done
    watch_estimates &
    WATCH=$!
}

# lists N: whether the daemon lists staN as a link.
lists() { slowhand status --json | grep -q "\"sta$1\""; }

# watch_estimates: writes down what the daemon knows of its links, again and again.
watch_estimates() {
    while slowhand why --json >/run/why; do
        printf '{"t_s":%s,"why":%s}\n' "$(cut -d ' ' -f 1 /proc/uptime)" "$(cat /run/why)"
        sleep 0.5
    done >$LOGS/estimates 2>/dev/null
}

# slowhand_down: ends it, and fails if it has ended before.
slowhand_down() {
    kill "$WATCH"
    slowhand why >$LOGS/why
    slowhand status >$LOGS/status
    kill -0 "$DAEMON" || fail "slowhand has ended by itself"
    slowhand down
    wait "$DAEMON"
}

# scenario_download: a download over MPTCP while the scenario runs, from its beginning to its end. The bytes
# that arrive are checked. Writes /share/samples, and prints the figures.
scenario_download() {
    local figures bytes hash
    head -c 96000000 /dev/urandom >/run/content
    ip netns exec server wifi-meter serve $SERVER:5000 /run/content --part &
    await "the server" has_listener
    walk
    say "downloading for $SECONDS_OF_RUN s" >&2
    figures=$(wifi-meter fetch $SERVER:5000 --seconds "$SECONDS_OF_RUN" --samples /share/samples)
    bytes=${figures#*\"bytes\":}
    hash=${figures#*\"sha256\":\"}
    [ "$(head -c "${bytes%%[!0-9]*}" /run/content | sha256sum | cut -d ' ' -f 1)" = "${hash%%\"*}" ] \
        || fail "other bytes arrived than were sent" >&2
    echo "$figures"
}

# listen_to_retries: the monitor writes down every data frame.
listen_to_retries() {
    tcpdump --immediate-mode -i mon0 -s 100 -w /run/mon0.pcap 'type data' >$LOGS/tcpdump 2>&1 &
    LISTENER=$!
    await "the monitor" has_text $LOGS/tcpdump listening
}

# stop_listening: ends it.
stop_listening() {
    kill "$LISTENER"
    wait "$LISTENER"
}

# retries N: of the data frames that access point N sent and the monitor has heard, all and those with the
# Retry bit.
retries() {
    local mac
    mac=$(ip netns exec "ap$1" cat /sys/class/net/wlan/address)
    heard() { tcpdump -r /run/mon0.pcap "wlan addr2 $mac and type data and subtype data $*" 2>/dev/null | wc -l; }
    echo "$(heard) $(heard and 'wlan[1] & 8 != 0')"
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
