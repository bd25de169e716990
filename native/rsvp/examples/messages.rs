//! Writes one packet of every kind with every object: `messages pcap FILE` for a dissector, `messages folder FOLDER` as seeds for a fuzzer.

#[path = "../tests/samples/mod.rs"]
mod samples;

use std::io;
use std::path::Path;

/// Raw IP, without a link layer.
const LINKTYPE_RAW: u32 = 101;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["pcap", file] => write_pcap(Path::new(file)),
        ["folder", folder] => write_folder(Path::new(folder)),
        _ => Err(io::Error::other(
            "usage: messages pcap FILE | messages folder FOLDER",
        )),
    }
}

/// One file of the kind that libpcap reads, frame by frame in the order of the samples.
fn write_pcap(file: &Path) -> io::Result<()> {
    let mut out = Vec::new();
    for word in [0xa1b2_c3d4, 0x0002_0004, 0, 0, 65_535, LINKTYPE_RAW] {
        out.extend_from_slice(&u32::to_be_bytes(word));
    }
    for (second, (_, packet)) in samples::packets().iter().enumerate() {
        let bytes = samples::on_ip(packet);
        for word in [second, 0, bytes.len(), bytes.len()] {
            out.extend_from_slice(&(word as u32).to_be_bytes());
        }
        out.extend_from_slice(&bytes);
    }
    std::fs::write(file, out)
}

/// One file for each packet, and one for each of its payloads without a checksum, which a fuzzer can change.
fn write_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (name, packet) in samples::packets() {
        let bytes = samples::on_ip(&packet);
        let (_, payload) =
            rackproof_rsvp::ip::Ipv4Header::decode(&bytes).map_err(io::Error::other)?;
        let mut payload = payload.to_vec();
        payload[2..4].fill(0);
        std::fs::write(folder.join(name), payload)?;
        std::fs::write(folder.join(format!("{name}-ip")), bytes)?;
    }
    Ok(())
}
