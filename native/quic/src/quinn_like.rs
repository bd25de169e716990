//! The stacks quinn and noq, which are alike: noq began as a copy of quinn.

/// A module with `run` for one of them. `$controller`: from a connection to a copy of its
/// congestion controller, if it has one.
macro_rules! stack {
    ($stack:ident, $controller:expr) => {
        pub mod $stack {
            use std::error::Error;
            use std::io;
            use std::net::SocketAddr;
            use std::sync::Arc;

            use ::$stack::congestion::{Controller, ControllerFactory};
            use ::$stack::crypto::rustls::{QuicClientConfig, QuicServerConfig};
            use ::$stack::{
                ClientConfig, Connection, ConnectionError, Endpoint, EndpointConfig, ServerConfig,
                TokioRuntime, TransportConfig, VarInt,
            };
            use bytes::Bytes;

            use crate::tls;
            use crate::transfer::{
                self, ANY, DATAGRAM_BYTES, FAREWELL, PIECE, Place, Plan, WINDOW_BYTES,
            };

            /// Factory makes congestion controllers of the type Wanted; a connection that has
            /// another is an error.
            pub async fn run<Factory, Wanted>(plan: Plan) -> Result<(), Box<dyn Error>>
            where
                Factory: ControllerFactory + Default + Send + Sync + 'static,
                Wanted: Controller + 'static,
            {
                let (endpoint, connection) =
                    connect(&plan.place, transport(Factory::default())).await?;
                let controller: Option<Box<dyn Controller>> = $controller(&connection);
                if !controller.is_some_and(|controller| controller.into_any().is::<Wanted>()) {
                    return Err("the connection has another congestion controller".into());
                }
                transfer::announce::<Wanted>(stringify!($stack));
                let mut received_bytes = 0;
                let moved = tokio::select! {
                    moved = flow(&connection, plan.sends, &mut received_bytes) => moved,
                    () = plan.place.over() => Ok(()),
                };
                let sent_bytes = connection.stats().udp_tx.bytes;
                let closed = connection.close_reason();
                connection.close(VarInt::from_u32(0), b"");
                drop(tokio::time::timeout(FAREWELL, endpoint.wait_idle()).await);
                transfer::conclude(sent_bytes, received_bytes);
                match closed {
                    // The other end has closed it, or has done so unheard.
                    Some(ConnectionError::ApplicationClosed(_) | ConnectionError::Reset) => Ok(()),
                    _ => moved,
                }
            }

            async fn connect(
                place: &Place,
                transport: Arc<TransportConfig>,
            ) -> Result<(Endpoint, Connection), Box<dyn Error>> {
                match place {
                    Place::Server(address) => {
                        let crypto = QuicServerConfig::try_from(tls::server()?)?;
                        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
                        config.transport_config(transport);
                        let endpoint = endpoint(*address, Some(config))?;
                        let connection = endpoint
                            .accept()
                            .await
                            .ok_or("the endpoint is closed")?
                            .await?;
                        Ok((endpoint, connection))
                    }
                    Place::Client(peer, _) => {
                        let crypto = QuicClientConfig::try_from(tls::client()?)?;
                        let mut config = ClientConfig::new(Arc::new(crypto));
                        config.transport_config(transport);
                        let endpoint = endpoint(ANY, None)?;
                        let connection = endpoint.connect_with(config, *peer, tls::NAME)?.await?;
                        Ok((endpoint, connection))
                    }
                }
            }

            fn endpoint(address: SocketAddr, server: Option<ServerConfig>) -> io::Result<Endpoint> {
                let socket = transfer::socket(address)?;
                Endpoint::new(
                    EndpointConfig::default(),
                    server,
                    socket,
                    Arc::new(TokioRuntime),
                )
            }

            fn transport<Factory: ControllerFactory + Send + Sync + 'static>(
                factory: Factory,
            ) -> Arc<TransportConfig> {
                let mut transport = TransportConfig::default();
                transport
                    .congestion_controller_factory(Arc::new(factory))
                    .initial_mtu(DATAGRAM_BYTES)
                    .min_mtu(DATAGRAM_BYTES)
                    .mtu_discovery_config(None)
                    .enable_segmentation_offload(false)
                    .stream_receive_window(VarInt::from_u32(WINDOW_BYTES))
                    .send_window(WINDOW_BYTES.into());
                Arc::new(transport)
            }

            async fn flow(
                connection: &Connection,
                sends: bool,
                received_bytes: &mut u64,
            ) -> Result<(), Box<dyn Error>> {
                if sends {
                    let mut stream = connection.open_uni().await?;
                    loop {
                        stream.write_chunk(Bytes::from_static(PIECE)).await?;
                    }
                }
                let mut stream = connection.accept_uni().await?;
                let mut piece = vec![0; PIECE.len()];
                while let Some(read_bytes) = stream.read(&mut piece).await? {
                    *received_bytes += read_bytes as u64;
                }
                Ok(())
            }
        }
    };
}

stack!(quinn, |connection: &Connection| Some(
    connection.congestion_state()
));
stack!(noq, |connection: &Connection| connection
    .congestion_state(::noq::PathId::ZERO));
