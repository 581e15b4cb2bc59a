//! The HTTP interface of a daemon, for browsers, metric collectors and health checks.

use crate::running::{PATIENCE, Running, attend};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The longest request in bytes.
const LONGEST: u64 = 8_192;
/// The most clients at a time.
const MOST: usize = 32;
/// The type of an answer that is sent again every second, until the client disconnects: server-sent events. Its body has
/// one line.
pub const EVENTS: &str = "text/event-stream";
/// The interval of events.
const PERIOD: Duration = Duration::from_secs(1);

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The status code of HTTP.
    pub code: u16,
    /// The type of the content.
    pub kind: &'static str,
    /// The content.
    pub body: String,
}

impl Answer {
    /// An answer of plain text.
    pub fn text(code: u16, body: &str) -> Answer {
        Answer { code, kind: "text/plain; charset=utf-8", body: format!("{body}\n") }
    }
}

/// A listening socket.
#[derive(Debug)]
pub struct HttpSocket(TcpListener);

impl HttpSocket {
    /// Opens the socket.
    ///
    /// # Errors
    /// The address cannot be used.
    pub fn open(address: SocketAddr) -> io::Result<HttpSocket> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(HttpSocket(listener))
    }

    /// The address at which it listens.
    ///
    /// # Errors
    /// The kernel does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }

    /// Answers requests, by their path, until the daemon is requested to stop. A client beyond the first 32 is
    /// disconnected.
    pub fn serve(&self, running: &Running, answer: impl Fn(&str) -> Answer + Sync) {
        let (open, answer) = (AtomicUsize::new(0), &answer);
        let accept = || Ok(self.0.accept()?.0);
        std::thread::scope(|scope| {
            attend(running, accept, |stream| {
                if open.fetch_add(1, Ordering::Relaxed) >= MOST {
                    open.fetch_sub(1, Ordering::Relaxed);
                    return Ok(());
                }
                let open = &open;
                scope.spawn(move || {
                    // A client that disconnects before the answer does not matter.
                    let _ = converse(&stream, running, answer);
                    open.fetch_sub(1, Ordering::Relaxed);
                });
                Ok(())
            });
        });
    }
}

fn converse(
    mut stream: &TcpStream,
    running: &Running,
    answer: &impl Fn(&str) -> Answer,
) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    let mut request = BufReader::new(stream.take(LONGEST));
    request.read_line(&mut line)?;
    skip_headers(&mut request)?;
    let Some(path) = path(&line) else {
        return whole(stream, &Answer::text(405, "only GET"));
    };
    let first = answer(path);
    if first.kind != EVENTS {
        return whole(stream, &first);
    }
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: {EVENTS}\r\nCache-Control: no-store\r\n\r\n")?;
    while !running.stopped() {
        write!(stream, "data: {}\n\n", answer(path).body)?;
        let sent = Instant::now();
        while sent.elapsed() < PERIOD && !running.stopped() {
            std::thread::sleep(PATIENCE);
        }
    }
    Ok(())
}

fn whole(mut stream: &TcpStream, answer: &Answer) -> io::Result<()> {
    let Answer { code, kind, body } = answer;
    let length = body.len();
    write!(stream, "HTTP/1.1 {code} {}\r\n", reason(*code))?;
    write!(
        stream,
        "Content-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// Reads the headers. Closing a socket with unread data would discard the answer.
fn skip_headers(request: &mut impl BufRead) -> io::Result<()> {
    let mut header = String::new();
    while request.read_line(&mut header)? > 2 {
        header.clear();
    }
    Ok(())
}

/// The path of a `GET` request, without the query.
fn path(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("GET ")?;
    rest.split([' ', '?', '\r', '\n']).next()
}

fn reason(code: u16) -> &'static str {
    match code {
        200 => "OK",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Service Unavailable",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_answered_until_the_daemon_stops() {
        let socket = HttpSocket::open("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = socket.address().unwrap();
        let get = |request: &str| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        };
        let answer = |path: &str| match path {
            "/events" => Answer { code: 200, kind: EVENTS, body: "7".into() },
            path => Answer::text(200, path),
        };
        let running = Running::default();
        std::thread::scope(|scope| {
            scope.spawn(|| socket.serve(&running, answer));
            let mut events = TcpStream::connect(address).unwrap();
            events.write_all(b"GET /events HTTP/1.1\r\n\r\n").unwrap();
            let text = get("GET /livez?verbose HTTP/1.1\r\nHost: here\r\n\r\n");
            assert!(
                text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\n/livez\n"),
                "{text}"
            );
            assert!(get("POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
            assert!(get("\u{1}nonsense\r\n\r\n").starts_with("HTTP/1.1 405 "));
            // Others are answered while a client gets events.
            let mut lines = BufReader::new(&events).lines().map(Result::unwrap);
            assert!(lines.any(|line| line == "data: 7") && lines.any(|line| line == "data: 7"));
            running.stop();
            assert!(lines.all(|line| line.is_empty() || line == "data: 7"), "it ends");
        });
    }
}
