# shellcheck shell=bash
# `slowhand up` and `slowhand down` fifty times, and twenty times `kill -9` at a random moment of joining: the
# host is as it was after each of them.
TRIAL=joins-again
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

two_known_networks
RANDOM=1
joined=0
for round in $(seq 50); do
    start
    await "the socket of slowhand" test -S /run/slowhand/control.sock
    # From the first scan to both joined.
    sleep "$((RANDOM % 6)).$((RANDOM % 10))"
    ! carries 1 || joined=$((joined + 1))
    kill -0 $daemon || fail "slowhand has ended by itself"
    slowhand down >>"$LOGS/down"
    wait $daemon
    host >/run/after
    diff /run/before /run/after || fail "slowhand left the host changed in round $round"
done
say "50 times up and down, $joined of them joined"
[ $joined -gt 0 ] || fail "nothing was ever joined"
for round in $(seq 20); do
    start
    sleep "$((RANDOM % 6)).$((RANDOM % 10))"
    kill -9 $daemon
    wait $daemon || true
    await "the end of wpa_supplicant" is_gone wpa_supplicant
    slowhand down >>"$LOGS/after-kill"
    host >/run/after
    diff /run/before /run/after || fail "slowhand left the host changed after kill $round"
done
printf '{"trial":"%s","rounds":%s,"kills":%s,"joined":%s}\n' "$TRIAL" 50 20 $joined | tee /share/figures.json
