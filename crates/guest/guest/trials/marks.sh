# shellcheck shell=bash
# Marks that `slowhand up` asks for, against packets that the client's kernel has received with CE. Four
# downloads at once fill the queues of both access points. Only links that are called cables are always
# marked.
TRIAL=marks
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh

# ce: packets with CE that the kernel has received, counted behind all programs of slowhand.
ce() {
    awk '/^IpExt:/ {
        if (!n) n = split($0, names)
        else for (i = 1; i <= n; i++) if (names[i] == "InCEPkts") print $i
    }' /proc/net/netstat
}

# listens N: whether server N listens.
listens() { ip netns exec server ss -Htln | grep -q ":500$1 "; }

# asked: sum of the marks that were requested on all links.
asked() { slowhand status --json | grep -o '"asked": *[0-9]*' | awk '{ sum += $2 } END { print sum + 0 }'; }

two_networks
mkdir -p /etc/slowhand
{
    echo 'peer_subflows = 8'
    for n in 1 2; do printf '[[link]]\ninterface = "sta%s"\nkind = "cable"\n' $n; done
} >/etc/slowhand/slowhand.toml
slowhand up >$LOGS/slowhand 2>&1 &
DAEMON=$!
for n in 1 2; do await "sta$n as a link" lists $n; done
[ "$(ce)" -eq 0 ] || fail "another program marks packets"
head -c 8000000 /dev/urandom >/run/content
hash=$(sha256sum /run/content | cut -d ' ' -f 1)
fetching=()
for n in 1 2 3 4; do
    ip netns exec server wifi-meter serve "$SERVER:500$n" /run/content &
    await "server $n" listens $n
done
for n in 1 2 3 4; do
    wifi-meter fetch "$SERVER:500$n" >"/run/fetched$n" &
    fetching+=($!)
done
for process in "${fetching[@]}"; do wait "$process"; done
for n in 1 2 3 4; do has_text "/run/fetched$n" "$hash" || fail "other bytes arrived than were sent"; done
# Nothing may be in flight when both are counted.
sleep 1
asked=$(asked) made=$(ce)
slowhand status >$LOGS/status
slowhand why >$LOGS/why
kill -0 $DAEMON || fail "slowhand has ended by itself"
slowhand down
wait $DAEMON
[ "$asked" -ge 200 ] || fail "only $asked marks were asked for"
error=$(echo "$asked $made" | awk '{ error = $2 / $1 - 1; print (error < 0 ? -error : error) }')
printf '{"trial":"%s","asked":%s,"received_ce":%s,"error":%s,"downloads":[%s]}\n' \
    "$TRIAL" "$asked" "$made" "$error" "$(cat /run/fetched? | paste -sd ,)" | tee /share/figures.json
