# shellcheck shell=bash
# `slowhand up` joins two networks whose logins check the server by its certificate: PEAP and TTLS. An
# impostor with the same names gets no password: its certificate is of another authority, or for another
# name.
TRIAL=joins-campus
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh
# shellcheck source=crates/guest/guest/beside.sh
. /lib/beside.sh

# certificate NAME HOST: an authority of its own, and a certificate for this host, in /run/NAME.
certificate() {
    local dir=/run/$1
    mkdir -p "$dir"
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj "/CN=$1" -keyout "$dir/ca.key" -out "$dir/ca.pem"
    openssl req -newkey rsa:2048 -nodes -subj "/CN=$2" -keyout "$dir/server.key" -out "$dir/server.csr"
    printf 'subjectAltName=DNS:%s\n' "$2" >"$dir/names"
    openssl x509 -req -days 30 -in "$dir/server.csr" -CA "$dir/ca.pem" -CAkey "$dir/ca.key" -CAcreateserial \
        -extfile "$dir/names" -out "$dir/server.pem"
}

# server_of NAME: lines of hostapd's configuration for logins at a server with this certificate.
server_of() {
    printf 'wpa=2\nwpa_key_mgmt=WPA-EAP\nrsn_pairwise=CCMP\nieee80211w=1\nieee8021x=1\neap_server=1\n'
    printf 'eap_user_file=/run/users\nca_cert=/run/%s/ca.pem\nserver_cert=/run/%s/server.pem\n' "$1" "$1"
    printf 'private_key=/run/%s/server.key\n' "$1"
}

# login_at SSID METHOD LAST: a network of the configuration with this method, and the last line of its login.
login_at() {
    local file=/etc/slowhand/$1.login
    printf '[[wifi.network]]\nssid = "%s"\nlogin_file = "%s"\n' "$1" "$file" >>/etc/slowhand/slowhand.toml
    (umask 077 && : >"$file")
    {
        printf 'eap=%s\nidentity="me"\npassword="open sesame"\nphase2="auth=MSCHAPV2"\n' "$2"
        printf 'ca_cert="/etc/ssl/campus.pem"\ndomain_suffix_match="%s"\n' "$3"
    } >"$file"
}

say "certificates, radios and access points"
{
    certificate campus radius.campus.example
    certificate impostor radius.campus.example
} >"$LOGS/openssl" 2>&1
mkdir -p /etc/ssl
cp /run/campus/ca.pem /etc/ssl/campus.pem
printf '"me" PEAP,TTLS\n"me" MSCHAPV2,TTLS-MSCHAPV2 "open sesame" [2]\n' >/run/users
radios 4
server
# shellcheck disable=SC2034 # joining.sh reads it
PROTECTION=([1]="$(server_of campus)" [2]="$(server_of campus)" [3]="$(server_of impostor)" [4]="$(server_of campus)")
access_point 1 peap 6 12mbit 5ms
access_point 2 ttls 6 12mbit 5ms
access_point 3 impostor 6 12mbit 5ms
access_point 4 name 6 12mbit 5ms
networks
login_at peap PEAP radius.campus.example
login_at ttls TTLS campus.example
login_at impostor PEAP radius.campus.example
login_at name PEAP radius.other.example
host >/run/before
begun=$(uptime_s)
start
for ssid in peap ttls; do await "joining $ssid" joined $ssid; done
joined_s=$(since "$begun")
for n in 1 2; do await "a packet over access point $n" carries $n; done
for ssid in impostor name; do
    await "the refusal of $ssid" reports "network $ssid .* it may be an impostor.* it is tried again after"
    ! joined $ssid || fail "$ssid was joined"
done
for n in 3 4; do
    # The password comes after the handshake of TLS, which slowhand has broken off.
    has_text "$LOGS/ap$n.hostapd" 'alert: read (remote end reported an error):fatal' || fail "access point $n was trusted"
done
stop
host >/run/after
diff /run/before /run/after || fail "slowhand left the host changed"
printf '{"trial":"%s","joined_s":%s}\n' "$TRIAL" "$joined_s" | tee /share/figures.json
