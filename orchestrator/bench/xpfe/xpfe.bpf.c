/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * The pipeline of a 5G-Crosshaul packet forwarding element in XDP: customers' frames to and from MAC-in-MAC (IEEE 802.1ah).
 * Tables have the numbers of Figure 3 of "5G-Crosshaul packet forwarding element". What matches nothing is dropped.
 *
 * Build: make -C orchestrator/bench/xpfe
 */
#include "frame.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Whether customers' frames of this service and VLAN may leave through the port. */
static __always_inline int belongs(const struct frame *frame, __u32 port)
{
	struct entry *entry = look_up(&attached, port, frame->c_tci & 0xfff, 0);

	return entry && entry->second == frame->i_sid;
}

/* t,2: the first rule that matches decides. */
static __always_inline int permitted(const struct frame *frame)
{
	struct key key = {.id = frame->i_sid};
	void *table = bpf_map_lookup_elem(&access_rules, &frame->slot);
	struct rules *rules = table ? bpf_map_lookup_elem(table, &key) : 0;

	if (!rules)
		return 1;
	for (__u32 i = 0; i < RULES && i < rules->count; i++) {
		struct rule *rule = &rules->rule[i];

		if (rule->matches & 1 && !same(rule->source, frame->source))
			continue;
		if (rule->matches & 2 && !same(rule->destination, frame->destination))
			continue;
		if (rule->matches & 4 && rule->ethertype != frame->ethertype)
			continue;
		count(frame, rule->counter);
		return rule->permit;
	}
	return 1;
}

/* t,3 */
static __always_inline int conforms(const struct frame *frame)
{
	struct key key = {.id = frame->i_sid};
	void *table = bpf_map_lookup_elem(&policers, &frame->slot);
	struct policer *policer = table ? bpf_map_lookup_elem(table, &key) : 0;
	__u64 now, cost;

	if (!policer)
		return 1;
	now = bpf_ktime_get_ns() << 4;
	cost = policer->rate_bps ? frame->octets * 128000000000ULL / policer->rate_bps : 0;
	for (int i = 0; i < 8; i++) {
		__u64 before = *(volatile __u64 *)&policer->arrival;
		__u64 after = (before > now ? before : now) + cost;

		if (after > now + policer->tolerance)
			break;
		if (__sync_val_compare_and_swap(&policer->arrival, before, after) == before) {
			count(frame, policer->counter);
			return 1;
		}
	}
	count(frame, policer->exceeded);
	return 0;
}

/* Table 253. */
static __always_inline int route(const struct frame *frame, const __u8 *destination, __u16 b_vlan)
{
	struct entry *entry = find(frame, &routes, 0, b_vlan, destination);

	if (!entry)
		return drop(frame, DROP_NO_ROUTE);
	if (is_group(destination))
		return spread(entry->value);
	if (entry->value == frame->ingress)
		return drop(frame, DROP_BACK);
	return bpf_redirect(entry->value, 0);
}

/* Customers' frame to a port here. */
static __always_inline int deliver(struct frame *frame, const struct entry *station, int pop)
{
	__u32 port = station->value;

	if (port == frame->ingress)
		return drop(frame, DROP_BACK);
	if (!belongs(frame, port))
		return drop(frame, DROP_C_VLAN);
	if (pop && pop_header(frame->ctx))
		return drop(frame, DROP_MALFORMED);
	return bpf_redirect(port, 0);
}

static __always_inline int encapsulate(struct frame *frame, const __u8 *destination)
{
	__u8 to[6];

	if (frame->octets - FCS + HEADER > LONGEST)
		return drop(frame, DROP_TOO_LONG);
	copy(to, destination);
	if (push(frame, to))
		return drop(frame, DROP_MALFORMED);
	return route(frame, to, frame->b_vlan);
}

/* A multicast frame of a customer: to the service's ports here, and in its group through the network. */
static __always_inline int encapsulate_group(struct frame *frame)
{
	const __u8 all[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct entry *group = find_own(frame, 7, frame->i_sid, 0, all);
	struct entry *here = find_own(frame, 5, frame->i_sid, frame->c_tci & 0xfff, 0);

	if (!here)
		return drop(frame, DROP_C_VLAN);
	if (!group)
		return spread(here->value);
	if (frame->octets - FCS + HEADER > LONGEST)
		return drop(frame, DROP_TOO_LONG);
	if (!here->second) {
		count(frame, DROP_NO_ROUTE);
		return spread(here->value);
	}
	count(frame, here->route);
	if (push(frame, group->address))
		return drop(frame, DROP_MALFORMED);
	return spread(here->second);
}

static __always_inline int from_customer(struct frame *frame)
{
	struct ethernet *header = (void *)(long)frame->ctx->data;
	struct entry *entry;
	__u16 c_vlan;

	if ((void *)(header + 1) > (void *)(long)frame->ctx->data_end)
		return drop(frame, DROP_MALFORMED);
	copy(frame->destination, header->destination);
	copy(frame->source, header->source);
	frame->c_tci = bpf_ntohs(header->tci);
	frame->ethertype = bpf_ntohs(header->inner);
	c_vlan = frame->c_tci & 0xfff;
	if (is_cfm_group(frame->destination) || header->type == bpf_htons(CFM) ||
	    (header->type == bpf_htons(C_TAG) && frame->ethertype == CFM))
		return drop(frame, OAM_LOCAL);
	if (header->type != bpf_htons(C_TAG))
		return drop(frame, DROP_NO_C_TAG);

	entry = look_up(&attached, frame->ingress, c_vlan, 0);
	if (!entry)
		return drop(frame, DROP_NO_SERVICE);
	frame->slot = entry->value;
	entry = find_own(frame, 1, frame->ingress, c_vlan, 0);
	if (!entry)
		return drop(frame, DROP_NO_SERVICE);
	frame->i_sid = entry->value;
	frame->encapsulated = entry->second;
	frame->b_vlan = entry->number;
	entry = find_own(frame, 0, frame->i_sid, frame->c_tci >> 13, 0);
	frame->b_pcp = entry ? entry->value : frame->c_tci >> 13;
	if (!permitted(frame))
		return drop(frame, DROP_ACCESS);
	if (!conforms(frame))
		return drop(frame, DROP_POLICER);
	if (is_group(frame->destination))
		return encapsulate_group(frame);
	entry = find_own(frame, 4, frame->i_sid, 0, frame->destination);
	if (entry)
		return deliver(frame, entry, 0);
	entry = find_own(frame, 7, frame->i_sid, 0, frame->destination);
	if (entry)
		return encapsulate(frame, entry->address);
	return drop(frame, DROP_NO_STATION);
}

/* Table 3 has found the service: to one station, or to all ports of the service. */
static __always_inline int decapsulate(struct frame *frame)
{
	struct entry *entry;
	__u32 set;

	if (!is_group(frame->destination)) {
		entry = find_own(frame, 4, frame->i_sid, 0, frame->destination);
		return entry ? deliver(frame, entry, 1) : drop(frame, DROP_NO_STATION);
	}
	entry = find_own(frame, 5, frame->i_sid, frame->c_tci & 0xfff, 0);
	if (!entry)
		return drop(frame, DROP_C_VLAN);
	set = entry->value;
	if (pop_header(frame->ctx))
		return drop(frame, DROP_MALFORMED);
	return spread(set);
}

static __always_inline int from_network(struct frame *frame)
{
	struct backbone *header = (void *)(long)frame->ctx->data;
	void *end = (void *)(long)frame->ctx->data_end;
	struct ethernet *inner = (void *)(header + 1);
	__u32 zero = 0;
	struct entry *own = bpf_map_lookup_elem(&element, &zero), *service, *here;
	__u8 b_da[6];
	__u16 b_vlan;
	int ours, oam;

	if (!own || (void *)header + 18 > end)
		return drop(frame, DROP_MALFORMED);
	if (header->type != bpf_htons(B_TAG))
		return drop(frame, DROP_NOT_XCF);
	if (same(header->source, own->address))
		return drop(frame, DROP_LOOP);
	copy(b_da, header->destination);
	b_vlan = bpf_ntohs(header->tci) & 0xfff;
	ours = same(b_da, own->address);
	oam = is_cfm_group(b_da) || header->inner == bpf_htons(CFM);
	if (!oam && header->inner == bpf_htons(I_TAG) && (void *)(header + 1) <= end)
		oam = header->i_tci[0] & UCA;
	if (oam) {
		if (ours || is_cfm_group(b_da))
			return drop(frame, OAM_LOCAL);
		count(frame, OAM_FORWARDED);
		return route(frame, b_da, b_vlan);
	}
	if (header->inner != bpf_htons(I_TAG))
		return drop(frame, DROP_NOT_XCF);
	if ((void *)(inner + 1) > end)
		return drop(frame, DROP_MALFORMED);
	if (!ours && !is_group(b_da))
		return route(frame, b_da, b_vlan);

	frame->i_sid = header->i_tci[1] << 16 | header->i_tci[2] << 8 | header->i_tci[3];
	copy(frame->destination, inner->destination);
	frame->c_tci = bpf_ntohs(inner->tci);
	service = find(frame, &services, frame->i_sid, 0, 0);
	if (service)
		frame->slot = service->value;
	if (ours) {
		if (!service)
			return drop(frame, DROP_NO_SERVICE);
		if (service->number != b_vlan)
			return drop(frame, DROP_B_VLAN);
		if (inner->type != bpf_htons(C_TAG))
			return drop(frame, DROP_NO_C_TAG);
		return decapsulate(frame);
	}
	if (service && service->number == b_vlan && same(service->address, b_da) && inner->type == bpf_htons(C_TAG)) {
		here = find_own(frame, 5, frame->i_sid, frame->c_tci & 0xfff, 0);
		if (here && here->second) {
			count(frame, here->route);
			return spread(here->second);
		}
		if (here) {
			__u32 set = here->value;

			if (pop_header(frame->ctx))
				return drop(frame, DROP_MALFORMED);
			return spread(set);
		}
	}
	return route(frame, b_da, b_vlan);
}

SEC("xdp")
int xpfe(struct xdp_md *ctx)
{
	struct frame frame = {
		.ctx = ctx,
		.octets = ctx->data_end - ctx->data + FCS,
		.ingress = ctx->ingress_ifindex,
	};
	struct entry *port = find(&frame, &ports, frame.ingress, 0, 0);

	if (!port)
		return drop(&frame, DROP_PORT);
	return port->value ? from_network(&frame) : from_customer(&frame);
}

/* On UNI ports of a set: what goes to the network with its header goes to customers without it. */
SEC("xdp/devmap")
int pop(struct xdp_md *ctx)
{
	return pop_header(ctx) ? XDP_DROP : XDP_PASS;
}
