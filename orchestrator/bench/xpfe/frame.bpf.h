/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * A frame on its way through the pipeline, and what every table does with it: look up an entry, count, drop, send to a set of ports.
 */
#include "tables.bpf.h"

#define HEADER 22
#define FCS 4
/* MTU of the bench's cables and the Ethernet header. */
#define LONGEST 2014
#define C_TAG 0x8100
#define B_TAG 0x88a8
#define I_TAG 0x88e7
#define CFM 0x8902
#define UCA 0x08

struct ethernet {
	__u8 destination[6];
	__u8 source[6];
	__be16 type;
	__be16 tci;
	__be16 inner;
};

struct backbone {
	__u8 destination[6];
	__u8 source[6];
	__be16 type;
	__be16 tci;
	__be16 inner;
	__u8 i_tci[4];
} __attribute__((packed));

/* A frame with what is known of it. */
struct frame {
	struct xdp_md *ctx;
	__u32 octets;
	__u32 ingress;
	__u32 i_sid;
	__u32 slot;
	__u32 encapsulated;	/* counter of the service in table 252 */
	__u16 b_vlan;
	__u16 c_tci;
	__u16 ethertype;
	__u8 b_pcp;
	__u8 destination[6];
	__u8 source[6];
};

static __always_inline void count(const struct frame *frame, __u32 counter)
{
	struct count *there = bpf_map_lookup_elem(&counters, &counter);

	if (there) {
		there->frames++;
		there->octets += frame->octets;
	}
}

static __always_inline int drop(const struct frame *frame, __u32 reason)
{
	count(frame, reason);
	return XDP_DROP;
}

static __always_inline void copy(__u8 *to, const __u8 *from)
{
	__builtin_memcpy(to, from, 6);
}

static __always_inline int same(const __u8 *a, const __u8 *b)
{
	return !((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]) | (a[4] ^ b[4]) | (a[5] ^ b[5]));
}

static __always_inline int is_group(const __u8 *address)
{
	return address[0] & 1;
}

static __always_inline int is_cfm_group(const __u8 *address)
{
	return address[0] == 0x01 && address[1] == 0x80 && address[2] == 0xc2 && !address[3] && !address[4] && (address[5] & 0xf0) == 0x30;
}

static __always_inline struct entry *look_up(void *table, __u32 id, __u16 number, const __u8 *address)
{
	struct key key = {.id = id, .number = number};

	if (address)
		copy(key.address, address);
	return bpf_map_lookup_elem(table, &key);
}

/* An entry, which counts the frame. */
static __always_inline struct entry *find(const struct frame *frame, void *table, __u32 id, __u16 number, const __u8 *address)
{
	struct entry *entry = look_up(table, id, number, address);

	if (entry)
		count(frame, entry->counter);
	return entry;
}

/* An entry of one of the tenant's own tables. */
static __always_inline struct entry *find_own(const struct frame *frame, __u32 number_of_table, __u32 id, __u16 number, const __u8 *address)
{
	__u32 which = frame->slot * TABLES + number_of_table;
	void *table = bpf_map_lookup_elem(&tenants, &which);

	return table ? find(frame, table, id, number, address) : 0;
}

static __always_inline int spread(__u32 set)
{
	void *ports_of_set = bpf_map_lookup_elem(&sets, &set);

	return ports_of_set ? bpf_redirect_map(ports_of_set, 0, BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS) : XDP_DROP;
}

/* Table 252. */
static __always_inline int push(const struct frame *frame, const __u8 *destination)
{
	__u32 zero = 0;
	struct entry *own = bpf_map_lookup_elem(&element, &zero);
	struct backbone *header;
	__u16 c_tci = frame->c_tci;

	if (!own || bpf_xdp_adjust_head(frame->ctx, -HEADER))
		return -1;
	header = (void *)(long)frame->ctx->data;
	if ((void *)(header + 1) > (void *)(long)frame->ctx->data_end)
		return -1;
	copy(header->destination, destination);
	copy(header->source, own->address);
	header->type = bpf_htons(B_TAG);
	header->tci = bpf_htons(frame->b_pcp << 13 | (c_tci & 0x1000) | frame->b_vlan);
	header->inner = bpf_htons(I_TAG);
	header->i_tci[0] = c_tci >> 8 & 0xf0;
	header->i_tci[1] = frame->i_sid >> 16;
	header->i_tci[2] = frame->i_sid >> 8;
	header->i_tci[3] = frame->i_sid;
	count(frame, frame->encapsulated);
	return 0;
}

static __always_inline int pop_header(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_head(ctx, HEADER);
}
