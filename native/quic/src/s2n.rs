//! The stack s2n-quic.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use s2n_quic::client::Connect;
use s2n_quic::connection::{self, Connection};
use s2n_quic::provider::congestion_controller::Endpoint;
use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber, events};
use s2n_quic::provider::io::tokio::{Builder, Provider};
use s2n_quic::provider::limits::Limits;
use s2n_quic::provider::tls::rustls;
use s2n_quic::{Client, Server, stream};

use crate::tls;
use crate::transfer::{self, ANY, FAREWELL, MTU, PIECE, Place, Plan, WINDOW_BYTES};

pub async fn run<Factory: Endpoint>(factory: Factory, plan: Plan) -> Result<(), Box<dyn Error>> {
    let sent_bytes = Arc::new(AtomicU64::new(0));
    let mut connection = connect(&plan.place, factory, Sent(sent_bytes.clone())).await?;
    // A connection's controller has the type that the factory makes: the compiler sees to it.
    transfer::announce::<Factory::CongestionController>("s2n-quic");
    let mut received_bytes = 0;
    let moved = tokio::select! {
        moved = flow(&mut connection, plan.sends, &mut received_bytes) => moved,
        () = plan.place.over() => Ok(()),
    };
    connection.close(0_u32.into());
    tokio::time::sleep(FAREWELL).await;
    transfer::conclude(sent_bytes.load(Ordering::Relaxed), received_bytes);
    match moved {
        // The other end has closed it, or has done so unheard.
        Err(stream::Error::ConnectionError {
            error:
                connection::Error::Application { .. }
                | connection::Error::Closed { .. }
                | connection::Error::StatelessReset { .. },
            ..
        }) => Ok(()),
        moved => Ok(moved?),
    }
}

async fn connect<Factory: Endpoint>(
    place: &Place,
    factory: Factory,
    sent: Sent,
) -> Result<Connection, Box<dyn Error>> {
    let limits = Limits::new()
        .with_data_window(WINDOW_BYTES.into())?
        .with_unidirectional_data_window(WINDOW_BYTES.into())?
        .with_max_send_buffer_size(WINDOW_BYTES)?;
    match place {
        Place::Server(address) => {
            let mut server = Server::builder()
                .with_tls(rustls::Server::from(tls::server()?))?
                .with_io(io(*address)?)?
                .with_congestion_controller(factory)?
                .with_limits(limits)?
                .with_event(sent)?
                .start()?;
            Ok(server.accept().await.ok_or("the endpoint is closed")?)
        }
        Place::Client(peer, _) => {
            let client = Client::builder()
                .with_tls(rustls::Client::from(tls::client()?))?
                .with_io(io(ANY)?)?
                .with_congestion_controller(factory)?
                .with_limits(limits)?
                .with_event(sent)?
                .start()?;
            Ok(client
                .connect(Connect::new(*peer).with_server_name(tls::NAME))
                .await?)
        }
    }
}

fn io(address: SocketAddr) -> std::io::Result<Provider> {
    Builder::default()
        .with_rx_socket(transfer::socket(address)?)?
        .with_gso_disabled()?
        .with_max_mtu(MTU)?
        .with_initial_mtu(MTU)?
        .with_base_mtu(MTU)?
        .build()
}

async fn flow(
    connection: &mut Connection,
    sends: bool,
    received_bytes: &mut u64,
) -> stream::Result<()> {
    if sends {
        let mut stream = connection.open_send_stream().await?;
        loop {
            stream.send(Bytes::from_static(PIECE)).await?;
        }
    }
    if let Some(mut stream) = connection.accept_receive_stream().await? {
        while let Some(piece) = stream.receive().await? {
            *received_bytes += piece.len() as u64;
        }
    }
    Ok(())
}

/// Counts what goes out in UDP datagrams [byte].
struct Sent(Arc<AtomicU64>);

impl Subscriber for Sent {
    type ConnectionContext = ();

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo) {}

    fn on_datagram_sent(
        &mut self,
        _: &mut (),
        _: &ConnectionMeta,
        datagram: &events::DatagramSent,
    ) {
        self.0.fetch_add(datagram.len.into(), Ordering::Relaxed);
    }
}
