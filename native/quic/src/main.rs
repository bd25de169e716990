//! One stream of bulk data over QUIC, as fast as the congestion controller that was asked for lets
//! it go.
//!
//! One end is the server, the other the client; either may be the sender, whose congestion
//! controller is the one at work. Each end says which controller its connection has, and when it is
//! over how much it sent and received. It is over after the client's duration, or by SIGINT.

mod quinn_like;
mod s2n;
mod tls;
mod transfer;

use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::LazyLock;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use s2n_quic::provider::congestion_controller as s2n_congestion;

use crate::transfer::{Place, Plan};

/// The version of this program and of its stacks, as they were built.
static VERSIONS: LazyLock<String> = LazyLock::new(|| {
    let stacks = ["quinn", "s2n-quic", "noq"].map(|name| format!("{name} {}", locked(name)));
    format!("{} ({})", env!("CARGO_PKG_VERSION"), stacks.join(", "))
});

fn locked(name: &str) -> &'static str {
    let package = format!("name = \"{name}\"\nversion = \"");
    let lock = include_str!("../Cargo.lock");
    let version = lock
        .split_once(&package)
        .and_then(|(_, rest)| rest.split_once('"'));
    version.map_or("", |(version, _)| version)
}

#[derive(Parser)]
#[command(version = VERSIONS.as_str(), about)]
struct Arguments {
    #[arg(long)]
    stack: Stack,
    #[arg(long)]
    congestion_control: Algorithm,
    /// The end that sends; both ends must be told the same
    #[arg(long, default_value = "client")]
    sender: End,
    #[command(subcommand)]
    end: EndArguments,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Stack {
    Quinn,
    S2nQuic,
    Noq,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Algorithm {
    Cubic,
    #[value(name = "newreno")]
    NewReno,
    Bbr,
    Bbr3,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum End {
    Client,
    Server,
}

#[derive(Subcommand)]
enum EndArguments {
    /// Wait for one connection
    Server {
        #[arg(long)]
        bind: IpAddr,
        #[arg(long)]
        port: u16,
    },
    /// Connect to a server, without asking who it is
    Client {
        #[arg(long)]
        peer: IpAddr,
        #[arg(long)]
        port: u16,
        /// How long data flow [s]
        #[arg(long)]
        duration: u64,
    },
}

impl Arguments {
    fn plan(&self) -> Plan {
        let (end, place) = match self.end {
            EndArguments::Server { bind, port } => {
                (End::Server, Place::Server(SocketAddr::new(bind, port)))
            }
            EndArguments::Client {
                peer,
                port,
                duration,
            } => (
                End::Client,
                Place::Client(SocketAddr::new(peer, port), Duration::from_secs(duration)),
            ),
        };
        Plan {
            place,
            sends: end == self.sender,
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rackproof-quic: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    use noq::congestion as noq_congestion;
    use quinn::congestion as quinn_congestion;

    use quinn_like::{noq as on_noq, quinn as on_quinn};

    let plan = arguments.plan();
    match (arguments.stack, arguments.congestion_control) {
        (Stack::Quinn, Algorithm::Cubic) => {
            on_quinn::run::<quinn_congestion::CubicConfig, quinn_congestion::Cubic>(plan).await
        }
        (Stack::Quinn, Algorithm::NewReno) => {
            on_quinn::run::<quinn_congestion::NewRenoConfig, quinn_congestion::NewReno>(plan).await
        }
        (Stack::Quinn, Algorithm::Bbr) => {
            on_quinn::run::<quinn_congestion::BbrConfig, quinn_congestion::Bbr>(plan).await
        }
        (Stack::S2nQuic, Algorithm::Cubic) => {
            s2n::run(s2n_congestion::Cubic::default(), plan).await
        }
        (Stack::S2nQuic, Algorithm::Bbr) => s2n::run(s2n_congestion::Bbr::default(), plan).await,
        (Stack::Noq, Algorithm::Bbr3) => {
            on_noq::run::<noq_congestion::Bbr3Config, noq_congestion::Bbr3>(plan).await
        }
        (stack, algorithm) => Err(format!("{stack:?} is not used with {algorithm:?}").into()),
    }
}
