# shellcheck shell=bash
# `slowhand up` joins a hidden network, and one with a login (802.1X, EAP-PWD). A wrong password is refused.
TRIAL=joins-login
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh
# shellcheck source=crates/guest/guest/beside.sh
. /lib/beside.sh

say "radios and access points"
radios 3
server
echo '"me" PWD "open sesame"' >/run/users
login='wpa=2\nwpa_key_mgmt=WPA-EAP\nrsn_pairwise=CCMP\nieee80211w=1\nieee8021x=1\neap_server=1\neap_user_file=/run/users\n'
# shellcheck disable=SC2034 # joining.sh reads it
PROTECTION=([1]="$(wpa2 "$PASSPHRASE" && echo ignore_broadcast_ssid=1)"
    [2]="$(printf '%b' "$login")" [3]="$(printf '%b' "$login")")
access_point 1 first 6 12mbit 5ms
access_point 2 second 6 12mbit 5ms
access_point 3 third 6 12mbit 5ms
networks first
{
    echo 'hidden = true'
    for n in second third; do printf '[[wifi.network]]\nssid = "%s"\nlogin_file = "/etc/slowhand/%s.login"\n' $n $n; done
} >>/etc/slowhand/slowhand.toml
(umask 077 && printf 'eap=PWD\nidentity="me"\npassword="open sesame"\n' >/etc/slowhand/second.login)
(umask 077 && printf 'eap=PWD\nidentity="me"\npassword="wrong"\n' >/etc/slowhand/third.login)
host >/run/before
begun=$(cut -d ' ' -f 1 /proc/uptime)
start
for ssid in first second; do await "joining $ssid" joined $ssid; done
ended=$(cut -d ' ' -f 1 /proc/uptime)
await "the refusal of the wrong password" reports 'refuses the login'
stop
! grep -r -e sesame -e "$PASSPHRASE" /run/slowhand "$LOGS/slowhand" || fail "a secret was written"
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
joined_s=$(echo "$begun $ended" | awk '{ print $2 - $1 }')
printf '{"trial":"%s","joined_s":%s}\n' "$TRIAL" "$joined_s" | tee /share/figures.json
