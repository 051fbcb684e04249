# shellcheck shell=bash
# `slowhand up` with four access points whose frames the air loses at different shares. Each one sends in its
# turn, as fast as its wire lets it. What the daemon says of the loss, against the truth.
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh

# The regulatory database is not in the guest. These rules of the driver allow channel 36.
# shellcheck disable=SC2034 # box.sh reads it
RADIO_OPTIONS=(regtest=5)
scenario_networks
TRIAL=estimates-g
[ "$CHANNEL" -lt 36 ] || TRIAL=estimates-a
# Without the slow rates of 802.11b, which rate control may choose at a high loss: too few frames would be
# sent. The kernel requires one that all stations must have, so 11 Mb/s stays.
for n in $(seq "$COUNT"); do
    [ "$TRIAL" = estimates-g ] || break
    ip netns exec "ap$n" iw dev wlan set bitrates legacy-2.4 6 9 11 12 18 24 36 48 54
done
slowhand_up
# The datagrams are for an address behind the client, which forwards nothing and answers nothing.
sysctl -q net.ipv4.ip_forward=0
for n in $(seq "$COUNT"); do
    # shellcheck source=/dev/null
    . "/run/lease-sta$n"
    # shellcheck disable=SC2154 # the lease sets it
    ip -n "ap$n" route add "10.8.$n.0/24" via "$ip"
    ip -n server route add "10.8.$n.0/24" via "10.1.$n.1" src "$SERVER"
done
walk
# Seconds of each: at a high loss, rate control chooses slow rates, and fewer frames are sent.
turns=(3 3 3 7)
for n in $(seq "$COUNT"); do
    say "access point $n sends"
    ip netns exec server bash -c "exec timeout ${turns[n - 1]} dd if=/dev/zero bs=1400 >/dev/udp/10.8.$n.1/9" \
        2>"$LOGS/sender$n" || [ $? -eq 124 ] || fail "the sender of access point $n has failed"
done
slowhand_down
medium_end
wifi-meter judge --truth /share/truth --scenario-links clear,fifth,two-fifths,three-fifths \
    --estimates $LOGS/estimates >/run/judged
! has_text /run/judged '"mean":null' || fail "an access point has sent fewer than 500 frames: $(cat /run/judged)"
printf '{"trial":"%s",%s\n' "$TRIAL" "$(sed 's/^{//' /run/judged)" | tee /share/figures.json
