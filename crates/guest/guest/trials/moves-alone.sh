# shellcheck shell=bash
# Linux alone on a walk from an access point to one of another channel: one interface, `wpa_supplicant` with
# both networks, which looks for a better one every 5 s while its signal is weak, and a new lease after each
# association.
TRIAL=moves-alone
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh

scenario_access_points
interfaces 1
{
    echo 'ctrl_interface=/run/wpa_supplicant'
    for name in "${NAMES[@]}"; do
        printf 'network={\n    ssid="%s"\n    psk="%s"\n    bgscan="simple:5:-72:30"\n}\n' "$name" "$PASSPHRASE"
    done
} >/run/sta1.conf
cat >/run/action <<'ACTION'
#!/bin/bash
# What wpa_cli calls after each association and its end.
[ "$2" = CONNECTED ] || exit 0
udhcpc -i "$1" -s /lib/udhcpc.sh -t 10 -T 1 -n -q || exit 0
. "/run/lease-$1"
ip route replace default via "$router" dev "$1" table 101
ip rule del priority 101
ip rule add from "$ip" table 101 priority 101
ip mptcp endpoint flush
ip mptcp endpoint add "$ip" dev "$1" subflow
echo "$ip"
ACTION
chmod +x /run/action
ip mptcp limits set subflows 8 add_addr_accepted 8
wpa_supplicant -B -P /run/wpa_supplicant.pid -f "$LOGS/wpa_supplicant" -i sta1 -c /run/sta1.conf
await "the control interface" test -e /run/wpa_supplicant/sta1
wpa_cli -p /run/wpa_supplicant -i sta1 -a /run/action >"$LOGS/action" 2>&1 &
await "the first lease" ping -q -c 1 -W 1 "$SERVER"
download=$(scenario_download)
medium_end
printf '{"trial":"%s","download":%s}\n' "$TRIAL" "$download" | tee /share/figures.json
