# shellcheck shell=bash
# Two access points announce the API of a captive portal by DHCP, and no check is configured. The API of the
# first one says that it is closed, so slowhand does not use its link. Then its portal opens.
TRIAL=joins-portal
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

API=10.9.0.9

# certificate: one for the API, of an authority that this host trusts from now on.
certificate() {
    mkdir -p /run/api
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=authority -keyout /run/api/ca.key -out /run/api/ca.pem
    openssl req -newkey rsa:2048 -nodes -subj /CN=api -keyout /run/api/key.pem -out /run/api/request
    printf 'subjectAltName=IP:%s\n' $API >/run/api/names
    openssl x509 -req -days 30 -in /run/api/request -CA /run/api/ca.pem -CAkey /run/api/ca.key -CAcreateserial \
        -extfile /run/api/names -out /run/api/certificate.pem
    export SSL_CERT_FILE=/run/api/ca.pem
}

# says NAMESPACE CAPTIVE: what the API in this namespace replies.
says() {
    mkdir -p "/run/api/$1"
    printf 'HTTP/1.0 200 OK\r\nContent-Type: application/captive+json\r\n\r\n' >"/run/api/$1/new"
    printf '{"captive": %s, "user-portal-url": "https://login.example/"}\n' "$2" >>"/run/api/$1/new"
    mv "/run/api/$1/new" "/run/api/$1/api"
}

# api NAMESPACE CAPTIVE: the API in this namespace.
api() {
    says "$1" "$2"
    ip -n "$1" address add $API/32 dev lo
    (cd "/run/api/$1" && exec ip netns exec "$1" openssl s_server -accept $API:443 -HTTP -cert /run/api/certificate.pem \
        -key /run/api/key.pem >>"$LOGS/api-$1" 2>&1) &
    await "the API in $1" has_api "$1"
}
has_api() { ip netns exec "$1" ss -Htln | grep -q "$API:443 "; }

# asked: how often the API of access point 1 was asked.
asked() { grep -c '^FILE:api' "$LOGS/api-ap1"; }

# leaves_by N: whether packets without a link of their own leave over access point N.
leaves_by() { [ "$(ip route get "$SERVER" | grep -o 'dev [^ ]*')" = "dev $(interface_of "$1")" ]; }

# watch: notes each second whether packets would leave over access point 1.
watch() {
    while sleep 1; do
        ! leaves_by 1 || echo 1 >>/run/left-by-1
    done
}

# shellcheck disable=SC2034 # box.sh reads it
DHCP_OPTIONS=("114,https://$API/api")
two_access_points
certificate >"$LOGS/openssl" 2>&1
ip -n ap2 route add $API via 10.1.2.2
api ap1 true
api server false
networks first second
start
for n in 1 2; do await "the address of access point $n" has_address $n; done
held_out 'a captive portal blocks it'
await "that packets leave over access point 2" leaves_by 2
watch &
watcher=$!
reports 'network first .*its network announces the API of a captive portal (https://10.9.0.9/api), which slowhand asks' \
    || fail "status does not say that a portal is announced"
[ "$(slowhand wifi portal "$(interface_of 1)")" = https://login.example/ ] || fail "no page of the portal"
! slowhand wifi portal "$(interface_of 2)" >/run/second || fail "the second access point has no closed portal"
has_text /run/second 'no captive portal: it leads to the Internet' || fail "it says: $(cat /run/second)"
before=$(asked)
# The portal stays closed. slowhand asks it every 30 s.
sleep 65
again=$(($(asked) - before))
((again >= 2 && again <= 3)) || fail "it was asked $again times in 65 s"
kill $watcher
[ ! -e /run/left-by-1 ] || fail "the access point with a closed portal was used"

say "the portal opens"
says ap1 false
begun=$(uptime_s)
sleep 15
await "that access point 1 is held out no longer" explains "$(interface_of 1): \(use\|demote\): "
returns=$(since "$begun")
kill -9 "$(cat /run/ap2.hostapd)"
await "that packets leave over access point 1" leaves_by 1
await "a way to the server over access point 1" ping -q -c 1 -W 1 "$SERVER"
stop
printf '{"trial":"%s","asked":%s,"returns_s":{"portal":%s}}\n' "$TRIAL" $again "$returns" | tee /share/figures.json
