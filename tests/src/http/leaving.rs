//! An HTTP/2 server that leaves as the first request comes, without having looked at it; whoever comes back is served.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::fake::HttpFake;
use super::tls::{TestCa, Tls};

const PREFACE: usize = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
const HEADERS: u8 = 1;
/// No settings of its own.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
/// GOAWAY on stream 0: the last stream it looked at is 0, and nothing went wrong (RFC 9113, section 6.8).
const GOAWAY: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// In front of a fake that speaks TLS. Ends when dropped.
pub struct Leaving {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Leaving {
    /// Leaves `times` connections at their first request, then passes everything on.
    pub async fn before(fake: &HttpFake, ca: &TestCa, times: usize) -> Leaving {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (acceptor, behind) = (Tls::of(ca).acceptor(), fake.address());
        let task = tokio::spawn(async move {
            for n in 0.. {
                let (stream, _) = listener.accept().await.expect("a connection");
                if n < times {
                    tokio::spawn(leave(stream, acceptor.clone()));
                } else {
                    tokio::spawn(pass_on(stream, behind));
                }
            }
        });
        Leaving { address, task }
    }

    /// The URL of the fake's endpoint, by this way.
    pub fn url(&self) -> String {
        format!("https://{}/mcp", self.address)
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn leave(stream: TcpStream, acceptor: TlsAcceptor) -> std::io::Result<()> {
    let mut stream = acceptor.accept(stream).await?;
    stream.write_all(&SETTINGS).await?;
    stream.read_exact(&mut [0; PREFACE]).await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let size = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        stream.read_exact(&mut vec![0; size as usize]).await?;
        if head[3] == HEADERS {
            stream.write_all(&GOAWAY).await?;
            stream.flush().await?;
        }
    }
}

async fn pass_on(mut stream: TcpStream, behind: SocketAddr) -> std::io::Result<()> {
    let mut behind = TcpStream::connect(behind).await?;
    tokio::io::copy_bidirectional(&mut stream, &mut behind).await?;
    Ok(())
}
