//! The HTTP interface of a daemon, for browsers, metric collectors and health checks.

use crate::running::Running;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// The interval at which a request to stop is checked, and the time limit for a client.
const PATIENCE: Duration = Duration::from_millis(50);
/// The longest request in bytes.
const LONGEST: u64 = 8_192;

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

    /// Answers requests one after another, by their path, until the daemon is requested to stop.
    pub fn serve(&self, running: &Running, answer: impl Fn(&str) -> Answer) {
        while !running.stopped() {
            match self.0.accept() {
                // A client that disconnects before the answer does not matter.
                Ok((stream, _)) => drop(converse(&stream, &answer)),
                Err(_) => std::thread::sleep(PATIENCE),
            }
        }
    }
}

fn converse(mut stream: &TcpStream, answer: &impl Fn(&str) -> Answer) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    let mut request = BufReader::new(stream.take(LONGEST));
    request.read_line(&mut line)?;
    skip_headers(&mut request)?;
    let Answer { code, kind, body } = match path(&line) {
        Some(path) => answer(path),
        None => Answer::text(405, "only GET"),
    };
    let length = body.len();
    write!(stream, "HTTP/1.1 {code} {}\r\n", reason(code))?;
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
        let address = socket.0.local_addr().unwrap();
        let get = |request: &str| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(request.as_bytes()).unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text
        };
        let running = Running::default();
        std::thread::scope(|scope| {
            scope.spawn(|| socket.serve(&running, |path| Answer::text(200, path)));
            let text = get("GET /livez?verbose HTTP/1.1\r\nHost: here\r\n\r\n");
            assert!(
                text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\n/livez\n"),
                "{text}"
            );
            assert!(get("POST / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405 "));
            assert!(get("\u{1}nonsense\r\n\r\n").starts_with("HTTP/1.1 405 "));
            running.stop();
        });
    }
}
