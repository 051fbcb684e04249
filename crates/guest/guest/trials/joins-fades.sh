# shellcheck shell=bash
# `slowhand up` on a walk past three access points of one channel, and 20 s after it, while a download
# continues: the first access point fades, its data in flight is drained, and slowhand leaves it.
TRIAL=joins-fades
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# is_left: whether slowhand has left the first access point.
is_left() { ! joined_to 1; }

scenario_access_points
networks "${NAMES[@]}"
start
await "joining the first one" carries 1
first=$(joined_to 1)
head -c 200000000 /dev/urandom >/run/content
ip netns exec server wifi-meter serve $SERVER:5000 /run/content --part &
await "the server" has_listener
walk
begun=$(uptime_s)
wifi-meter fetch $SERVER:5000 --seconds $((SECONDS_OF_RUN + 20)) >/run/fetched &
fetch=$!
within $((SECONDS_OF_RUN + 20)) "leaving the first access point" is_left
left=$(since "$begun")
! has_ended $fetch || fail "the download ended before the first access point was left"
wait $fetch || fail "the download has broken"
stop
medium_end
for what in 'fade: its signal is falling' 'retire: its signal .* is too weak for frames: data in flight is drained'; do
    has_text "$LOGS/slowhand" "$first: .*$what" || fail "the first access point was left without: $what"
done
! has_text "$LOGS/slowhand" 'the association has ended' || fail "an association was lost, not left"
printf '{"trial":"%s","left_s":%s,"download":%s}\n' "$TRIAL" "$left" "$(cat /run/fetched)" | tee /share/figures.json
