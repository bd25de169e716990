/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
 *
 * TCP Vegas (Brakmo and Peterson, IEEE JSAC 13(8), 1995) as a BPF struct_ops program, for kernels without the module tcp_vegas.
 * alpha, beta and gamma are 2, 4 and 1 packets. Needs only kernel types by name (CO-RE), so that one object fits all kernels with BTF.
 *
 * Build: make -C testplans/congestion_control/schemes/bpf
 */
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "GPL";

#define ALPHA 2
#define BETA 4
#define GAMMA 1
#define UNKNOWN_US 0x7fffffffU
#define TCP_CA_OPEN 0
#define CA_EVENT_TX_START 0
#define CA_EVENT_CWND_RESTART 1

#define KERNEL __attribute__((preserve_access_index))

struct sock_common {
	unsigned char skc_state;
} KERNEL;

struct sock {
	struct sock_common __sk_common;
} KERNEL;

struct inet_connection_sock {
	__u64 icsk_ca_priv[13];
} KERNEL;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 snd_nxt;
	__u32 snd_cwnd;
	__u32 snd_cwnd_clamp;
	__u32 snd_ssthresh;
} KERNEL;

struct ack_sample {
	__s32 rtt_us;
} KERNEL;

struct tcp_congestion_ops {
	void (*init)(struct sock *sk);
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, int event);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
};

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;
extern __u32 tcp_reno_ssthresh(struct sock *sk) __ksym;
extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;

/* What a connection knows; lives in icsk_ca_priv. least_us is that of the round that is under way; held: in it, slow start does not grow. */
struct vegas {
	__u32 active;
	__u32 held;
	__u32 round_end;
	__u32 rtts;
	__u32 least_us;
	__u32 base_us;
};

static struct vegas *state_of(const struct sock *sk)
{
	return (struct vegas *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __u32 at_least(__u32 value, __u32 least)
{
	return value < least ? least : value;
}

static void begin_round(const struct sock *sk, struct vegas *vegas)
{
	vegas->round_end = ((const struct tcp_sock *)sk)->snd_nxt;
	vegas->rtts = 0;
	vegas->least_us = UNKNOWN_US;
}

SEC("struct_ops/vegas_init")
void BPF_PROG(vegas_init, struct sock *sk)
{
	struct vegas *vegas = state_of(sk);

	vegas->base_us = UNKNOWN_US;
	vegas->active = true;
	vegas->held = false;
	begin_round(sk, vegas);
}

SEC("struct_ops/vegas_set_state")
void BPF_PROG(vegas_set_state, struct sock *sk, __u8 new_state)
{
	struct vegas *vegas = state_of(sk);

	vegas->active = new_state == TCP_CA_OPEN;
	if (vegas->active)
		begin_round(sk, vegas);
}

/* After a pause the path may be another one. */
SEC("struct_ops/vegas_cwnd_event")
void BPF_PROG(vegas_cwnd_event, struct sock *sk, int event)
{
	struct vegas *vegas = state_of(sk);

	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START) {
		vegas->base_us = UNKNOWN_US;
		vegas->active = true;
		begin_round(sk, vegas);
	}
}

SEC("struct_ops/vegas_pkts_acked")
void BPF_PROG(vegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct vegas *vegas = state_of(sk);
	__u32 rtt_us;

	if (sample->rtt_us < 0)
		return;
	rtt_us = sample->rtt_us + 1; /* never 0: it divides */
	if (rtt_us < vegas->base_us)
		vegas->base_us = rtt_us;
	if (rtt_us < vegas->least_us)
		vegas->least_us = rtt_us;
	vegas->rtts++;
}

/* Once a round: compare what is queued in the path, in packets, to alpha and beta, in slow start to gamma.
 *
 * Slow start grows in every other round only (section 3.3 of the paper), so that what it queued is seen before it doubles again.
 */
static void adjust(struct tcp_sock *tp, struct vegas *vegas)
{
	__u32 cwnd = tp->snd_cwnd;
	__u64 queued = (__u64)cwnd * (vegas->least_us - vegas->base_us) / vegas->base_us;

	if (cwnd < tp->snd_ssthresh) {
		if (queued <= GAMMA) {
			vegas->held = !vegas->held;
			return;
		}
		/* The path is full: down to what fills it, and out of slow start. */
		__u32 fills = (__u64)cwnd * vegas->base_us / vegas->least_us + 1;

		cwnd = fills < cwnd ? fills : cwnd;
		tp->snd_ssthresh = at_least(cwnd - 1, 2);
	} else if (queued > BETA) {
		cwnd--;
		tp->snd_ssthresh = at_least(cwnd - 1, 2);
	} else if (queued < ALPHA) {
		cwnd++;
	}
	cwnd = at_least(cwnd, 2);
	tp->snd_cwnd = cwnd < tp->snd_cwnd_clamp ? cwnd : tp->snd_cwnd_clamp;
}

SEC("struct_ops/vegas_cong_avoid")
void BPF_PROG(vegas_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = (struct tcp_sock *)sk;
	struct vegas *vegas = state_of(sk);

	if (!vegas->active) {
		tcp_reno_cong_avoid(sk, ack, acked);
		return;
	}
	if ((__s32)(ack - vegas->round_end) <= 0) {
		if (tp->snd_cwnd < tp->snd_ssthresh && !vegas->held)
			tcp_slow_start(tp, acked);
		return;
	}
	/* With one or two samples, delayed acknowledgements may have made them all. */
	if (vegas->rtts <= 2)
		tcp_reno_cong_avoid(sk, ack, acked);
	else
		adjust(tp, vegas);
	begin_round(sk, vegas);
}

SEC("struct_ops/vegas_ssthresh")
__u32 BPF_PROG(vegas_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

SEC("struct_ops/vegas_undo_cwnd")
__u32 BPF_PROG(vegas_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

/* Names are global to the machine: whoever registers it puts a name of its own over this one, of the same length. */
SEC(".struct_ops")
struct tcp_congestion_ops rackproof_vegas = {
	.init = (void *)vegas_init,
	.ssthresh = (void *)vegas_ssthresh,
	.cong_avoid = (void *)vegas_cong_avoid,
	.set_state = (void *)vegas_set_state,
	.cwnd_event = (void *)vegas_cwnd_event,
	.pkts_acked = (void *)vegas_pkts_acked,
	.undo_cwnd = (void *)vegas_undo_cwnd,
	.name = "rackproof_cc_na",
};
