# shellcheck shell=bash
# `slowhand up` on a walk past three access points of one channel.
TRIAL=walk-slowhand
# shellcheck source=crates/guest/guest/box.sh
. /lib/box.sh

scenario_networks
slowhand_up
download=$(scenario_download)
slowhand_down
medium_end
wifi-meter judge --truth /share/truth --scenario-links lobby,hall,library --estimates $LOGS/estimates >/run/judged
printf '{"trial":"%s","download":%s,%s\n' "$TRIAL" "$download" "$(sed 's/^{//' /run/judged)" \
    | tee /share/figures.json
