# How this machine switches, one setting a line, without counters. Every function prints one kind of setting.
read_links() {
    ip -o link show | awk '{
        name = $2; sub(/[@:].*/, "", name)
        up = ($3 ~ /[<,]UP[,>]/) ? "up" : "down"; mtu = master = "-"
        for (i = 4; i < NF; i++) { if ($i == "mtu") mtu = $(i + 1); if ($i == "master") master = $(i + 1) }
        print "link " name " " up " mtu " mtu " master " master
    }'
}
read_bridges() {
    ip -o -d link show type bridge | awk '{
        name = $2; sub(/[@:].*/, "", name)
        for (i = 3; i < NF; i++) if ($i == "vlan_filtering" || $i == "stp_state") print "bridge " name " " $i " " $(i + 1)
    }'
}
read_vlans() {
    bridge vlan show 2>/dev/null | awk 'NR > 1 && NF { if (/^[^ \t]/) { port = $1; sub(/^[^ \t]+/, "") } $1 = $1; if (NF) print "vlan " port " " $0 }'
}
read_addresses() {
    ip -o -4 address show scope global | awk '{ print "address " $2 " " $4 }'
    ip -4 route show | awk '!/ proto kernel/ { sub(/ +$/, ""); print "route " $0 }'
}
read_labels() {
    [ -d /proc/sys/net/mpls ] || return 0
    ip -f mpls route show | awk '{ sub(/ +$/, ""); print "label " $0 }'
    grep -s . /proc/sys/net/mpls/platform_labels /proc/sys/net/mpls/conf/*/input | sed 's,^/proc/sys/net/,mpls ,; s,:, ,'
}
# Lines of tc with the port first, and what follows a line joined to it.
tidy() {
    awk -v port="$1" '
        function out() {
            if (line == "") return
            gsub(/ (refcnt|direct_packets_stat|direct_qlen|ver|level|linklayer) [^ ]+| not_in_hw/, "", line); gsub(/  +/, " ", line); sub(/ $/, "", line)
            if (port == "" && match(line, / dev [^ ]+/)) print substr(line, RSTART + 5, RLENGTH - 5) ": " substr(line, 1, RSTART - 1) substr(line, RSTART + RLENGTH)
            else print port ": " line
            line = ""
        }
        /^[a-z]/ { out(); line = $0; next } { line = line " " $0 } END { out() }' | sort
}
read_queues() { # one port, or all
    if [ $# -gt 0 ]; then tc -d qdisc show dev "$1" | tidy "$1"; else tc -d qdisc show | tidy ""; fi
    for queued in ${1:-$(tc qdisc show | sed -n '/ 0: dev /d; s/.* dev \([^ ]*\) root.*/\1/p')}; do
        { tc -d class show dev "$queued"; tc filter show dev "$queued"; } | tidy "$queued"
    done
}
read_features() { # ports
    for port; do ethtool -k "$port" 2>/dev/null; done | awk '
        /^Features for/ { port = $3; sub(/:$/, "", port) }
        / (on|off)( \[requested (on|off)\])?$/ { sub(/:$/, "", $1); print "feature " port " " $1 " " $2 }'
}
read_settings() { # those that can be set; the others change by themselves
    find /proc/sys/net/core /proc/sys/net/ipv4 -maxdepth 1 -type f -perm -200 \( -path '*/core/*' -o -name 'tcp_*' -o -name 'udp_*' -o -name 'ip_*' \) |
        sort | xargs grep -s . | awk '{
        at = index($0, ":"); name = substr($0, 11, at - 11); value = substr($0, at + 1)
        gsub("/", ".", name); gsub(/[ \t]+/, " ", value); sub(/ $/, "", value)
        print "sysctl " name " " value
    }'
}
read_all() {
    read_links
    read_bridges
    read_vlans
    read_addresses
    read_labels
    read_queues
    if command -v ethtool >/dev/null; then read_features $(ip -o link show | sed -n 's/^[0-9]*: \([^:@]*\).*/\1/; /^lo$/!p'); fi
    read_settings
}
# Lines of the first text that are not in the second, each with a mark before it.
only() { printf '%s\n' "$1" | grep -vxF -e "$2" | sed "/./!d; s/^/$3 /"; }
