# shellcheck shell=bash
# `slowhand up` joins a hidden network, one with a login (802.1X, EAP-PWD), an open one that is allowed by
# name, one that encrypts without a key (OWE), and one in the transition mode of WPA2 and WPA3. A wrong
# password of a login and one of WPA3 are refused, without a storm of attempts.
TRIAL=joins-login
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh
# shellcheck source=crates/guest/guest/beside.sh
. /lib/beside.sh

# owe: lines of hostapd's configuration for Enhanced Open.
owe() { printf 'wpa=2\nwpa_key_mgmt=OWE\nrsn_pairwise=CCMP\nieee80211w=2\n'; }

# attempts: how often slowhand has given up joining a network that refuses it.
attempts() { grep -c 'not joined.*ssid=\(third\|wrong\) ' "$LOGS/slowhand"; }

say "radios and access points"
radios 7
server
echo '"me" PWD "open sesame"' >/run/users
login='wpa=2\nwpa_key_mgmt=WPA-EAP\nrsn_pairwise=CCMP\nieee80211w=1\nieee8021x=1\neap_server=1\neap_user_file=/run/users\n'
# shellcheck disable=SC2034 # joining.sh reads it
PROTECTION=([1]="$(wpa2 "$PASSPHRASE" && echo ignore_broadcast_ssid=1)"
    [2]="$(printf '%b' "$login")" [3]="$(printf '%b' "$login")"
    [4]="$(wpa3 | sed 's/^sae_password=.*/sae_password=another passphrase/')" [5]="$(unprotected)" [6]="$(transition)" [7]="$(owe)")
access_point 1 first 6 12mbit 5ms
access_point 2 second 6 12mbit 5ms
access_point 3 third 6 12mbit 5ms
access_point 4 wrong 6 12mbit 5ms
access_point 5 guests 6 12mbit 5ms
access_point 6 mixed 6 12mbit 5ms
access_point 7 station 6 12mbit 5ms
networks first
{
    echo 'hidden = true'
    for n in second third; do printf '[[wifi.network]]\nssid = "%s"\nlogin_file = "/etc/slowhand/%s.login"\n' $n $n; done
    for n in guests station; do printf '[[wifi.network]]\nssid = "%s"\nopen = true\n' $n; done
    for n in wrong mixed; do
        printf '[[wifi.network]]\nssid = "%s"\npsk_file = "/etc/slowhand/networks.psk"\n' $n
    done
} >>/etc/slowhand/slowhand.toml
(umask 077 && printf 'eap=PWD\nidentity="me"\npassword="open sesame"\n' >/etc/slowhand/second.login)
(umask 077 && printf 'eap=PWD\nidentity="me"\npassword="wrong"\n' >/etc/slowhand/third.login)
host >/run/before
begun=$(cut -d ' ' -f 1 /proc/uptime)
start
for ssid in first second guests mixed station; do await "joining $ssid" joined $ssid; done
ended=$(cut -d ' ' -f 1 /proc/uptime)
await "the refusal of the wrong password" reports 'refuses the login'
await "the refusal of the wrong key of WPA3" reports 'network wrong .* it is tried again after'
hostapd_cli -p /run/hostapd-ap6 -i wlan all_sta >"$LOGS/mixed"
has_text "$LOGS/mixed" 'AKMSuiteSelector=00-0f-ac-8' || fail "WPA2 was used where WPA3 was possible"
hostapd_cli -p /run/hostapd-ap7 -i wlan all_sta >"$LOGS/station"
has_text "$LOGS/station" 'AKMSuiteSelector=00-0f-ac-18' || fail "the network with OWE was joined without it"
# Each pause is twice as long as the one before it, and the first one is 5 s or more.
tries=$(attempts)
sleep 30
[ $(($(attempts) - tries)) -le 3 ] || fail "slowhand storms a network that refuses it"
stop
! grep -r -e sesame -e "$PASSPHRASE" /run/slowhand "$LOGS/slowhand" || fail "a secret was written"
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
joined_s=$(echo "$begun $ended" | awk '{ print $2 - $1 }')
printf '{"trial":"%s","joined_s":%s}\n' "$TRIAL" "$joined_s" | tee /share/figures.json
