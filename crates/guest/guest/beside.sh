# shellcheck shell=bash
# Functions for trials in which other programs of a desktop run beside slowhand. Comes after joining.sh.

# system_bus: D-Bus, on which everybody may do everything.
system_bus() {
    mkdir -p /run/dbus
    cat >/run/dbus.conf <<'BUS'
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path=/run/dbus/system_bus_socket</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
  </policy>
</busconfig>
BUS
    dbus-daemon --config-file=/run/dbus.conf --nofork --nopidfile >"$LOGS/dbus" 2>&1 &
    await "the bus" test -S /run/dbus/system_bus_socket
}

# resolved: systemd-resolved, without a service manager.
resolved() {
    echo systemd-resolve:x:990:990::/:/bin/false >>/etc/passwd
    echo systemd-resolve:x:990: >>/etc/group
    mkdir -p /run/systemd
    /lib/systemd/systemd-resolved >"$LOGS/resolved" 2>&1 &
    await "systemd-resolved" test -e /run/systemd/resolve/resolv.conf
}

# network_manager: NetworkManager and its wpa_supplicant. With a read-only /sys it does without udev.
network_manager() {
    mkdir -p /etc/NetworkManager/system-connections /var/lib/NetworkManager
    cat >/etc/NetworkManager/NetworkManager.conf <<'SETTINGS'
[main]
plugins=keyfile
dhcp=internal
dns=systemd-resolved
rc-manager=unmanaged
auth-polkit=false
SETTINGS
    [ -n "${supplicant:-}" ] || {
        wpa_supplicant -u -f "$LOGS/users-supplicant" &
        supplicant=$!
    }
    unshare -m bash -c 'mount -o remount,bind,ro /sys && exec NetworkManager --no-daemon' >>"$LOGS/NetworkManager" 2>&1 &
    await "NetworkManager" nmcli general
}

# saved_network SSID PRIORITY: saves a network in NetworkManager, which joins that of the highest priority.
saved_network() {
    nmcli connection add type wifi con-name "$1" ifname wlan0 ssid "$1" connection.autoconnect-priority "$2" \
        wifi-sec.key-mgmt wpa-psk wifi-sec.psk "$PASSPHRASE"
}

# has_state INTERFACE STATE: whether NetworkManager has an interface in the state of this number.
has_state() { nmcli -g GENERAL.STATE device show "$1" | grep -q "^$2 "; }

# joined SSID: whether slowhand has joined an access point of this network.
joined() { slowhand status | grep "^network $1 " | grep -q ': joined as'; }

has_no_interfaces() { [ -z "$(find /sys/class/net -name 'slow-w*')" ]; }
