/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * The label table of a label switching router in XDP (RFC 3032): swap, swap and push, pop. ARP and RSVP go on to sockets; whatever else matches
 * nothing is dropped. native/src/lsr/table.rs does the same in user space, native/src/lsr/xdp.rs writes the maps.
 *
 * Build: make -C orchestrator/bench/lsr
 */
#include <linux/types.h>

#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ARP 0x0806
#define IPV4 0x0800
#define IPV6 0x86dd
#define MPLS 0x8847
#define RSVP 46
#define BOTTOM 0x100
#define NONE 0xffffffff
#define LABELS 131072
#define PORTS 64

char LICENSE[] SEC("license") = "GPL";

/* Network order is in frames only. */
struct entry {
	__u32 out;	/* label; NONE: the label is popped */
	__u32 push;	/* label on top of it, or NONE */
	__u32 ifindex;
	__u8 destination[6];
	__u8 source[6];
};

struct station {
	__u8 address[6];
	__u8 padding[2];
};

/* xdp.rs has the same order. */
enum {
	FORWARDED,
	DROP_MALFORMED,
	DROP_OTHER_ADDRESS,
	DROP_NO_LABEL,
	DROP_TTL,
	DROP_PAYLOAD,
	DROP_TOO_LONG,
	DROP_NOT_MPLS,
	COUNTERS,
};

struct ethernet {
	__u8 destination[6];
	__u8 source[6];
	__be16 type;
} __attribute__((packed));

struct ipv4 {
	__u8 version;
	__u8 tos;
	__be16 length;
	__be16 identification;
	__be16 fragment;
	__u8 ttl;
	__u8 protocol;
	__be16 checksum;
	__be32 source;
	__be32 destination;
} __attribute__((packed));

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, LABELS);
	__type(key, __u32);
	__type(value, struct entry);
} labels SEC(".maps");

/* Interface -> its own address. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PORTS);
	__type(key, __u32);
	__type(value, struct station);
} stations SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

static __always_inline void count(__u32 which)
{
	__u64 *counter = bpf_map_lookup_elem(&counters, &which);

	if (counter)
		(*counter)++;
}

static __always_inline int drop(__u32 why)
{
	count(why);
	return XDP_DROP;
}

static __always_inline int same(const __u8 *a, const __u8 *b)
{
	return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) | (a[4] ^ b[4]) | (a[5] ^ b[5])) == 0;
}

static __always_inline void address(struct ethernet *header, const struct entry *entry)
{
	__builtin_memcpy(header->destination, entry->destination, 6);
	__builtin_memcpy(header->source, entry->source, 6);
}

/* TTL of an IPv4 header, and its checksum by what changes (RFC 1624, equation 3). */
static __always_inline void set_ttl(struct ipv4 *ip, __u8 ttl)
{
	__u32 sum = (__u16)~bpf_ntohs(ip->checksum);

	sum += (__u16)~(ip->ttl << 8 | ip->protocol);
	sum += ttl << 8 | ip->protocol;
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	ip->ttl = ttl;
	ip->checksum = bpf_htons((__u16)~sum);
}

/* The label goes, TTL goes to what is below it (RFC 3032, 2.4), and EtherType comes from it. */
static __always_inline int pop(struct xdp_md *ctx, const struct entry *entry, int bottom, __u8 ttl)
{
	struct ethernet *header = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	__u8 *below = (void *)header + sizeof(*header) + 4;
	__u16 type = MPLS;

	if ((void *)below + 4 > end)
		return drop(DROP_MALFORMED);
	if (!bottom) {
		below[3] = ttl;
	} else if (below[0] >> 4 == 4) {
		if ((void *)below + sizeof(struct ipv4) > end)
			return drop(DROP_PAYLOAD);
		set_ttl((void *)below, ttl);
		type = IPV4;
	} else if (below[0] >> 4 == 6) {
		if ((void *)below + 8 > end)
			return drop(DROP_PAYLOAD);
		below[7] = ttl;
		type = IPV6;
	} else {
		return drop(DROP_PAYLOAD);
	}
	if (bpf_xdp_adjust_head(ctx, 4))
		return drop(DROP_MALFORMED);
	header = (void *)(long)ctx->data;
	if ((void *)(header + 1) > (void *)(long)ctx->data_end)
		return drop(DROP_MALFORMED);
	address(header, entry);
	header->type = bpf_htons(type);
	count(FORWARDED);
	return bpf_redirect(entry->ifindex, 0);
}

/* One more label on top of the one that was swapped, with its class and TTL (RFC 3032, 2.4). */
static __always_inline int push(struct xdp_md *ctx, const struct entry *entry, __u32 swapped)
{
	struct ethernet *header;
	__be32 *stack;
	__u32 mtu = 0;

	if (bpf_check_mtu(ctx, entry->ifindex, &mtu, sizeof(*stack), 0))
		return drop(DROP_TOO_LONG);
	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(*stack)))
		return drop(DROP_MALFORMED);
	header = (void *)(long)ctx->data;
	stack = (void *)(header + 1);
	if ((void *)(stack + 2) > (void *)(long)ctx->data_end)
		return drop(DROP_MALFORMED);
	address(header, entry);
	header->type = bpf_htons(MPLS);
	stack[0] = bpf_htonl(entry->push << 12 | (swapped & 0xfff & ~BOTTOM));
	stack[1] = bpf_htonl(swapped);
	count(FORWARDED);
	return bpf_redirect(entry->ifindex, 0);
}

SEC("xdp")
int lsr(struct xdp_md *ctx)
{
	struct ethernet *header = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	__be32 *stack = (void *)(header + 1);
	__u32 port = ctx->ingress_ifindex, word, label;
	struct station *station;
	struct entry *entry;
	__u8 ttl;

	if ((void *)(stack + 1) > end)
		return drop(DROP_MALFORMED);
	if (header->type == bpf_htons(ARP))
		return XDP_PASS;
	if (header->type == bpf_htons(IPV4)) {
		struct ipv4 *ip = (void *)stack;

		if ((void *)(ip + 1) <= end && ip->protocol == RSVP)
			return XDP_PASS;
	}
	if (header->type != bpf_htons(MPLS))
		return drop(DROP_NOT_MPLS);
	station = bpf_map_lookup_elem(&stations, &port);
	if (!station || !same(header->destination, station->address))
		return drop(DROP_OTHER_ADDRESS);
	word = bpf_ntohl(*stack);
	label = word >> 12;
	entry = bpf_map_lookup_elem(&labels, &label);
	if (!entry)
		return drop(DROP_NO_LABEL);
	ttl = word;
	if (ttl <= 1)
		return drop(DROP_TTL);
	ttl--;
	if (entry->out == NONE)
		return pop(ctx, entry, (word & BOTTOM) != 0, ttl);
	word = entry->out << 12 | (word & 0xf00) | ttl;
	if (entry->push != NONE)
		return push(ctx, entry, word);
	*stack = bpf_htonl(word);
	address(header, entry);
	count(FORWARDED);
	return bpf_redirect(entry->ifindex, 0);
}
