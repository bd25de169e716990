/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * The tables of the forwarding element: what layout.py writes, xpfe.bpf.c reads. Numbers of frames are in network order only in frames.
 */
#include <linux/types.h>

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* Tenants with tables of their own, and the set 0 that all others share. */
#define SLOTS 31
/* Tables of one slot: t,0 t,1 t,4 t,5 t,7. */
#define TABLES 8
#define ENTRIES 16384
#define SETS 4096
#define MEMBERS 64
#define RULES 32
#define COUNTERS 65536

struct key {
	__u32 id;	/* I-SID, or interface */
	__u16 number;	/* VLAN or priority */
	__u8 address[6];
};

/* value: what the table says: interface, set of ports, slot, I-SID or priority */
struct entry {
	__u32 counter;
	__u32 value;
	__u32 second;	/* table 0: I-SID; t,1: counter in table 252; t,5: set with the network in it */
	__u32 route;	/* t,5: counter of the group's entry in table 253 */
	__u16 number;	/* backbone VLAN */
	__u8 address[6];
};

struct rule {
	__u32 counter;
	__u8 source[6];
	__u8 destination[6];
	__u16 ethertype;
	__u8 matches;	/* bits: source, destination, ethertype */
	__u8 permit;
};

struct rules {
	__u32 count;
	struct rule rule[RULES];
};

/* Generic cell rate algorithm; times in sixteenths of a nanosecond. */
struct policer {
	__u32 counter;
	__u32 exceeded;
	__u64 rate_bps;
	__u64 tolerance;
	__u64 arrival;	/* theoretical arrival time */
};

struct count {
	__u64 frames;
	__u64 octets;
};

/* The first counters; drops first. layout.py has the same list. */
enum {
	DROP_PORT,
	DROP_MALFORMED,
	DROP_NO_C_TAG,
	DROP_NOT_XCF,
	DROP_LOOP,
	DROP_NO_SERVICE,
	DROP_B_VLAN,
	DROP_ACCESS,
	DROP_POLICER,
	DROP_NO_STATION,
	DROP_C_VLAN,
	DROP_NO_ROUTE,
	DROP_BACK,
	DROP_TOO_LONG,
	OAM_LOCAL,
	OAM_FORWARDED,
};

struct table {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, ENTRIES);
	__type(key, struct key);
	__type(value, struct entry);
};

/* element[0]: the address of the element itself, in the entry's address. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct entry);
} element SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, __u32);
	__type(value, struct count);
} counters SEC(".maps");

/* Table 0: port -> UNI (value 0) or NNI (1); port and C-VLAN -> slot. Table 3: I-SID -> slot. Table 253: B-DA and B-VID -> port or set. */
struct table ports SEC(".maps");
struct table attached SEC(".maps");
struct table services SEC(".maps");
struct table routes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SLOTS * TABLES);
	__type(key, __u32);
	__array(values, struct table);
} tenants SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_HASH);
		__uint(map_flags, BPF_F_NO_PREALLOC);
		__uint(max_entries, ENTRIES);
		__uint(key_size, sizeof(struct key));
		__uint(value_size, sizeof(struct rules));
	});
} access_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_HASH);
		__uint(map_flags, BPF_F_NO_PREALLOC);
		__uint(max_entries, ENTRIES);
		__uint(key_size, sizeof(struct key));
		__uint(value_size, sizeof(struct policer));
	});
} policers SEC(".maps");

/* Sets of ports, set 0 empty. A UNI port in a set with NNI ports has the program `pop` on it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, SETS);
	__type(key, __u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
		__uint(max_entries, MEMBERS);
		__uint(key_size, sizeof(__u32));
		__uint(value_size, sizeof(struct bpf_devmap_val));
	});
} sets SEC(".maps");
