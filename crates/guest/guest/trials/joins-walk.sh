# shellcheck shell=bash
# `slowhand up` joins by itself on a walk past three access points of one channel. Counted are associations,
# and attempts that failed.
TRIAL=joins-walk
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# shellcheck disable=SC2034 # joining.sh reads it
UP=(--record /run/walk.record)
download_on_a_walk
carries 3 || fail "the last access point is not in use after the walk"
stop
slowhand replay /run/walk.record >"$LOGS/replay" || fail "the recording is not replayed: $(cat "$LOGS/replay")"
has_text "$LOGS/replay" identical || fail "the same inputs lead to other decisions: $(cat "$LOGS/replay")"
medium_end
joined=$(grep -c 'joined ssid=' "$LOGS/slowhand")
failed=$(grep -c 'not joined' "$LOGS/slowhand" || true)
wifi-meter judge --truth /share/truth --scenario-links lobby,hall,library --estimates "$LOGS/estimates" >/run/judged
printf '{"trial":"%s","download":%s,"joined":%d,"failed":%d,%s\n' "$TRIAL" "$download" "$joined" "$failed" \
    "$(sed 's/^{//' /run/judged)" | tee /share/figures.json
[ "$joined" -eq "$COUNT" ] || fail "$joined associations instead of $COUNT"
! has_text /run/judged '"windows":{[^}]*}[^}]*"n":0' || fail "no estimate was compared: $(cat /run/judged)"
[ "$failed" -eq 0 ] || fail "$failed attempts to join have failed"
