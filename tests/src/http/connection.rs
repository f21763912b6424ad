//! One connection to the fake, from its acceptance to its end.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::log::HttpLog;
use super::reader::Reader;
use super::request::HttpRequest;
use super::state::State;
use super::writer::{Stop, Writer};
use super::{http2, play};

pub(crate) async fn serve(mut stream: TcpStream, state: &Arc<State>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = || stream.as_fd().try_clone_to_owned();
    let (for_steps, socket) = (socket()?, socket()?);
    let number = state.log.opened();
    if let Some(steps) = state.rule_for_connection(number) {
        let mut out = Writer::new(&mut stream, for_steps);
        if let Err(stop) = play::all(state, &HttpRequest::nobody(number), &mut out, steps).await {
            drop(socket);
            out.end(stop).await;
            return Ok(());
        }
    }
    let Some(tls) = &state.tls else {
        converse(stream, socket, number, state).await;
        return Ok(());
    };
    match tls.accept(stream).await {
        Ok(stream) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => {
            http2::converse(stream, number, state).await;
        }
        Ok(stream) => converse(stream, socket, number, state).await,
        Err(_) => state.log.refused_tls(number),
    }
    Ok(())
}

/// Answers what comes on one connection, request by request.
async fn converse<S>(stream: S, socket: OwnedFd, number: usize, state: &Arc<State>)
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (read, write) = tokio::io::split(stream);
    let mut out = Writer::new(write, socket);
    let (send, mut requests) = mpsc::unbounded_channel();
    let reading = tokio::spawn(read_all(read, number, state.log.clone(), send));
    let stop = loop {
        let Some(request) = requests.recv().await else { break Stop::Gone };
        let answered = tokio::select! {
            answered = play::answer(state, &request, &mut out) => answered,
            () = gone(&state.log, number) => Err(Stop::Gone),
        };
        if let Err(stop) = answered {
            if stop == Stop::Gone {
                state.log.given_up_on(&request);
            }
            break stop;
        }
        if request.header("connection").is_some_and(|connection| connection.eq_ignore_ascii_case("close")) {
            break Stop::Cut;
        }
    };
    reading.abort();
    let _ = reading.await; // so that nothing holds the socket any more
    out.end(stop).await;
}

/// Reads requests until the client is gone, while earlier ones are answered.
async fn read_all(
    mut read: impl AsyncRead + Unpin,
    number: usize,
    log: HttpLog,
    requests: mpsc::UnboundedSender<HttpRequest>,
) {
    let mut reader = Reader::default();
    while let Some(request) = reader.next(&mut read, number).await {
        log.note(&request);
        let _ = requests.send(request); // the connection is over
    }
    log.closed(number);
}

async fn gone(log: &HttpLog, number: usize) {
    log.until(|log| log.closed_by_client().contains(&number).then_some(())).await;
}
