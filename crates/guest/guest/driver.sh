# shellcheck shell=bash
# Functions for trials in which the driver of the radios can do less than usual. They come after box.sh, and
# are called before `radios`.
#
# mac80211_hwsim has no parameter for that. So a constant in the guest's copy of a module is changed, and the
# module is loaded without its signature. The kernel then reports and refuses by its own rules. A trial must
# check that it does.

# change MODULE PATTERN OFFSET BYTES: changes the bytes at an offset of the only place in a module that
# matches a pattern.
change() {
    local file places
    file=$(modinfo -F filename "$1")
    places=$(LC_ALL=C grep -obUaP "$2" "$file" | cut -s -d : -f 1) || true
    [ "$(wc -w <<<"$places")" -eq 1 ] || fail "$1 of this kernel has not one place with $2: $places"
    printf '%b' "$4" | dd of="$file" bs=1 seek=$((places + $3)) conv=notrunc status=none
    # A module whose signature is wrong is refused, one without a signature is not.
    [ "$(tail -c 28 "$file")" != '~Module signature appended~' ] || truncate -s -28 "$file"
}

# without_monitor: radios have no monitor interfaces. mac80211 adds 0x40 (1 << NL80211_IFTYPE_MONITOR) to the
# types of every radio, and to those that count nowhere.
without_monitor() {
    change mac80211 '\x83[\xc8-\xcf]\x40.{0,24}?\x66\x89.\x50' 2 '\x00'
    change mac80211 '\x66\x83[\x48-\x4f].\x40' 4 '\x00'
}

# few_stations N: radios allow at most N interfaces that are stations, access points or mesh points, instead
# of 2,048.
few_stations() { change mac80211_hwsim '[\xb8-\xbf]\x00\x08\x00\x00' 1 "\\x0$1\\x00"; }
