# shellcheck shell=bash
# `slowhand up` under each policy that it accepts, where one network is the only link: it is joined, and a
# connection without a route of its own uses it. The policy for one link is refused: it takes the name of a
# `[[link]]`.
TRIAL=joins-policies
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh
# shellcheck source=crates/guest/guest/joining.sh
. /lib/joining.sh

# choose POLICY: the configuration with one network and this policy.
choose() {
    networks first
    sed -i "1i policy = \"$1\"" /etc/slowhand/slowhand.toml
}

two_known_networks
choose tcp:first
! slowhand up >"$LOGS/tcp" 2>&1 || fail "a policy for an unknown link is accepted"
has_text "$LOGS/tcp" 'there is no link .first.' || fail "the policy for one link is refused for another reason"
head -c 1000000 /dev/urandom >/run/content
unused=() used=()
for policy in handover handover-warm handover+cell wifi-first mptcp slowhand slowhand-no-window; do
    say "policy $policy"
    choose "$policy"
    ! ping -q -c 1 -W 1 "$SERVER" >/dev/null 2>&1 || fail "there is a way to the server without slowhand"
    start
    await "joining under $policy" has_lease 1
    await "a way to the server under $policy" ping -q -c 1 -W 1 "$SERVER"
    ip netns exec server wifi-meter serve "$SERVER:5000" /run/content &
    server=$!
    await "the server" has_listener
    before=$(sent_to 1)
    wifi-meter fetch "$SERVER:5000" >"$LOGS/$policy"
    wait $server
    if [ $(($(sent_to 1) - before)) -ge 1000000 ]; then
        used+=("$policy")
    else
        unused+=("$policy")
    fi
    stop
    host >/run/after
    diff /run/before /run/after || fail "slowhand left the host changed under $policy"
done
printf '{"trial":"%s","used":%s,"unused":%s}\n' "$TRIAL" ${#used[@]} ${#unused[@]} | tee /share/figures.json
