//! How a packet socket is opened, set up and bound to an interface.

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::error::SetupError;
use crate::netns;

/// Room for frames on their way [bytes]. They stay charged to the sender through veth and bridge
/// until somebody consumes them; with the default the sender would block and loss be falsely zero.
const SEND_BUFFER_BYTES: libc::c_int = 64 << 20;

/// A port: an interface in a network namespace.
#[derive(Clone, Debug)]
pub struct PortSpec {
    /// Name of the interface.
    pub interface: String,
    /// Open descriptor of its network namespace; None for the caller's.
    pub netns_fd: Option<RawFd>,
}

/// A raw packet socket that receives nothing until it is bound to a protocol.
#[derive(Debug)]
pub struct PacketSocket {
    fd: OwnedFd,
    interface: String,
    ifindex: i32,
    mtu: u32,
}

impl PacketSocket {
    /// Opens a socket in the port's namespace, not yet bound.
    pub fn open(port: &PortSpec) -> Result<Self, SetupError> {
        netns::run_in(port.netns_fd, || {
            let interface = port.interface.as_str();
            // SAFETY: takes integers only; the result is checked before use.
            let fd =
                unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
            if fd < 0 {
                return Err(SetupError::last("open packet socket", interface));
            }
            // SAFETY: `fd` was just returned by socket() and belongs to nobody else.
            let fd = unsafe { OwnedFd::from_raw_fd(fd) };
            let ifindex = interface_index(interface)?;
            let mtu = interface_mtu(&fd, interface)?;
            Ok(Self {
                fd,
                interface: interface.to_owned(),
                ifindex,
                mtu,
            })
        })
    }

    /// The descriptor.
    pub fn raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Index of the interface in its namespace.
    pub fn ifindex(&self) -> i32 {
        self.ifindex
    }

    /// Name of the interface.
    pub fn interface(&self) -> &str {
        &self.interface
    }

    /// Largest payload of the interface [bytes], without Ethernet header.
    pub fn mtu(&self) -> u32 {
        self.mtu
    }

    /// Binds for sending only.
    pub fn bind_for_sending(&self) -> Result<(), SetupError> {
        self.bind(0, self.ifindex)
    }

    /// Binds for receiving every protocol from this interface; frames arrive from now on.
    pub fn bind_for_receiving(&self) -> Result<(), SetupError> {
        self.bind(libc::ETH_P_ALL as u16, self.ifindex)
    }

    /// Binds for receiving every protocol from every interface of the namespace.
    pub fn bind_for_receiving_all(&self) -> Result<(), SetupError> {
        self.bind(libc::ETH_P_ALL as u16, 0)
    }

    /// Prepares for sending at high rates: a large buffer and no queueing discipline on the way.
    pub fn tune_for_sending(&self) -> Result<(), SetupError> {
        let size = SEND_BUFFER_BYTES;
        if self
            .set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &size, "")
            .is_err()
        {
            // Without the privilege: as much as the system's limit grants.
            self.set(libc::SOL_SOCKET, libc::SO_SNDBUF, &size, "set send buffer")?;
        }
        let on: libc::c_int = 1;
        self.set(
            libc::SOL_PACKET,
            libc::PACKET_QDISC_BYPASS,
            &on,
            "bypass queueing discipline",
        )
    }

    /// Prepares for receiving: not what this host sends itself, and stamped when it arrives.
    pub fn tune_for_receiving(&self) -> Result<(), SetupError> {
        let on: libc::c_int = 1;
        self.set(
            libc::SOL_PACKET,
            libc::PACKET_IGNORE_OUTGOING,
            &on,
            "ignore outgoing frames",
        )?;
        // Makes the kernel stamp at the driver's hand-over rather than when the ring is filled.
        self.set(
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            &on,
            "switch on timestamps",
        )
    }

    /// Keeps only the first `bytes` of every frame; 0 refuses all frames.
    pub fn truncate_to(&self, bytes: u32) -> Result<(), SetupError> {
        let mut code = [libc::sock_filter {
            code: (libc::BPF_RET | libc::BPF_K) as u16,
            jt: 0,
            jf: 0,
            k: bytes,
        }];
        let program = libc::sock_fprog {
            len: 1,
            filter: code.as_mut_ptr(),
        };
        self.set(
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            &program,
            "attach filter",
        )
    }

    /// Frames that the ring had no room for since the last call.
    pub fn take_ring_drops(&self, v3: bool) -> u64 {
        let mut stats = [0_u32; 3];
        let fields = if v3 { 3 } else { 2 };
        let mut length = (fields * size_of::<u32>()) as libc::socklen_t;
        // SAFETY: the buffer holds tpacket_stats_v3, the larger of the two (three u32), and
        // `length` says how much of it may be written.
        let result = unsafe {
            libc::getsockopt(
                self.raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                stats.as_mut_ptr().cast(),
                &mut length,
            )
        };
        if result == 0 { u64::from(stats[1]) } else { 0 }
    }

    /// Sets one socket option.
    pub fn set<T>(
        &self,
        level: libc::c_int,
        option: libc::c_int,
        value: &T,
        operation: &str,
    ) -> Result<(), SetupError> {
        // SAFETY: `value` is a live reference and its true size is given; the kernel copies it.
        let result = unsafe {
            libc::setsockopt(
                self.raw_fd(),
                level,
                option,
                std::ptr::from_ref(value).cast(),
                size_of::<T>() as libc::socklen_t,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(SetupError::last(operation, &self.interface))
        }
    }

    fn bind(&self, protocol: u16, ifindex: i32) -> Result<(), SetupError> {
        // SAFETY: sockaddr_ll is plain integers, for which zero is valid.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = protocol.to_be();
        address.sll_ifindex = ifindex;
        // SAFETY: the address is a live sockaddr_ll and its true size is given.
        let result = unsafe {
            libc::bind(
                self.raw_fd(),
                std::ptr::from_ref(&address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if result == 0 {
            Ok(())
        } else {
            Err(SetupError::last("bind packet socket", &self.interface))
        }
    }
}

/// Opens all `ports` at once: each waits for a kernel grace period, which they can share.
pub fn open_all<T, F>(ports: &[PortSpec], prepare: F) -> Result<Vec<T>, SetupError>
where
    T: Send,
    F: Fn(PacketSocket) -> Result<T, SetupError> + Sync,
{
    std::thread::scope(|scope| {
        let helpers: Vec<_> = ports
            .iter()
            .map(|port| scope.spawn(|| PacketSocket::open(port).and_then(&prepare)))
            .collect();
        helpers
            .into_iter()
            .map(|helper| {
                helper
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
            .collect()
    })
}

/// Sockets that are closed all at once when dropped, for the same reason.
pub struct Together<T: Send>(pub Vec<T>);

impl<T: Send> Drop for Together<T> {
    fn drop(&mut self) {
        std::thread::scope(|scope| {
            for socket in self.0.drain(..) {
                scope.spawn(move || drop(socket));
            }
        });
    }
}

/// Index of an interface in the calling thread's namespace.
pub fn interface_index(interface: &str) -> Result<i32, SetupError> {
    let name = CString::new(interface)
        .map_err(|error| SetupError::from_io(error.into(), "name of interface", interface))?;
    // SAFETY: `name` is a live NUL-terminated string.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    if index == 0 {
        return Err(SetupError::last("find interface", interface));
    }
    Ok(index as i32)
}

fn interface_mtu(fd: &OwnedFd, interface: &str) -> Result<u32, SetupError> {
    // SAFETY: ifreq is plain data, for which zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero, so that the name is terminated.
    let room = request.ifr_name.len() - 1;
    for (to, from) in request
        .ifr_name
        .iter_mut()
        .zip(interface.bytes().take(room))
    {
        *to = from as libc::c_char;
    }
    // SAFETY: SIOCGIFMTU reads the name and writes the MTU into the live ifreq.
    if unsafe { libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFMTU, &mut request) } != 0 {
        return Err(SetupError::last("read MTU", interface));
    }
    // SAFETY: after SIOCGIFMTU the union holds the MTU.
    Ok(unsafe { request.ifr_ifru.ifru_mtu } as u32)
}
