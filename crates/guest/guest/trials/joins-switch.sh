# shellcheck shell=bash
# Access points change their channel. First three at once, with WPA3, with a login (802.1X), and with Enhanced
# Open: slowhand follows, and no association ends. Then one of them alone, during a download: the radio can
# follow only one channel, and the download continues over the two others.
TRIAL=joins-switch
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# switches N MHZ: lets access point N announce that it changes to this frequency.
switches() {
    hostapd_cli -p "/run/hostapd-ap$1" -i wlan chan_switch 5 "$2" | grep -q OK \
        || fail "access point $1 refuses to change its channel"
}

# switches_when_told N MHZ: what terminates the process in /run/apN.hostapd lets access point N do that.
switches_when_told() {
    (
        trap 'switches '"$1 $2"'; exit' TERM
        while :; do sleep 1000 & wait; done
    ) &
    echo $! >"/run/ap$1.hostapd"
}

# associations: how many have begun and how many have ended until now.
associations() { echo "$(grep -c '^info: joined ' "$LOGS/slowhand") begun, $(grep -c 'has ended' "$LOGS/slowhand") ended"; }

# ends N: how many associations with access point N have ended.
ends() { grep -c "has ended .*bssid=$(bssid_of "$1")" "$LOGS/slowhand"; }

# all_carry N...: waits until packets get through over each of these access points.
all_carry() {
    local n
    for n in "$@"; do await "packets over access point $n" carries "$n"; done
}

say "radios and access points"
radios 3
server
echo '"me" PWD "open sesame"' >/run/users
# shellcheck disable=SC2034 # joining.sh reads it
PROTECTION=([1]="$(wpa3)"
    [2]="$(printf '%b' 'wpa=2\nwpa_key_mgmt=WPA-EAP\nrsn_pairwise=CCMP\nieee80211w=1\nieee8021x=1\neap_server=1\neap_user_file=/run/users\n')"
    [3]="$(printf '%b' 'wpa=2\nwpa_key_mgmt=OWE\nrsn_pairwise=CCMP\nieee80211w=2\n')")
for n in 1 2 3; do access_point $n net$n 6 12mbit 5ms; done
networks net1
{
    printf '[[wifi.network]]\nssid = "net2"\nlogin_file = "/etc/slowhand/net2.login"\n'
    printf '[[wifi.network]]\nssid = "net3"\nopen = true\n'
} >>/etc/slowhand/slowhand.toml
(umask 077 && printf 'eap=PWD\nidentity="me"\npassword="open sesame"\n' >/etc/slowhand/net2.login)
host >/run/before
start
all_carry 1 2 3

say "all three change their channel"
before=$(associations)
for n in 1 2 3; do switches $n 2462; done
for n in 1 2 3; do await "channel 11 in the status of network $n" reports "net$n .*channel 11"; done
all_carry 1 2 3
# Longer than slowhand lets wpa_supplicant try to get an association back.
sleep 7
all_carry 1 2 3
after=$(associations)
[ "$after" = "$before" ] || fail "a change of channel has cost an association: $before, then $after"
# Each is sought on its new channel if it ends.
for n in 1 2 3; do
    hostapd_cli -p /run/hostapd-ap$n -i wlan deauthenticate "$(mac_of $n)" | grep -q OK || fail "nothing was ended"
    await "that the association with $n has ended" has_text "$LOGS/slowhand" "has ended (reason 2) bssid=$(bssid_of $n)"
    all_carry $n
done
! has_text "$LOGS/slowhand" 'not joined' || fail "an access point was not found on its new channel"

say "access point 1 changes alone"
switches_when_told 1 2412
download_joined 12000000 4000000
all_carry 2 3
await "that network 1 is not heard" reports 'network net1: absent'

say "the others follow it"
for n in 2 3; do switches $n 2412; done
for n in 2 3; do await "channel 1 in the status of network $n" reports "net$n .*channel 1,"; done
all_carry 1 2 3
[ "$(ends 2) $(ends 3)" = '1 1' ] || fail "the associations 2 and 3 have ended $(ends 2) and $(ends 3) times"
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
