//! What a daemon shows by HTTP: to a browser, to what collects metrics, and to what watches whether it works.

use crate::running::Running;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// How often it is seen that the daemon is to stop, and the most that one who asks may take.
const PATIENCE: Duration = Duration::from_millis(50);
/// The longest request.
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
    /// Plain text.
    pub fn text(code: u16, body: &str) -> Answer {
        Answer { code, kind: "text/plain; charset=utf-8", body: format!("{body}\n") }
    }
}

/// A listening socket.
#[derive(Debug)]
pub struct HttpSocket(TcpListener);

impl HttpSocket {
    /// Opens it.
    ///
    /// # Errors
    /// The address cannot be used.
    pub fn open(address: SocketAddr) -> io::Result<HttpSocket> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        Ok(HttpSocket(listener))
    }

    /// Answers requests one after another, by their path, until the daemon is to stop.
    pub fn serve(&self, running: &Running, answer: impl Fn(&str) -> Answer) {
        while !running.stopped() {
            match self.0.accept() {
                // Who goes away before the answer does not matter.
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

/// A socket that is closed before all was read loses the answer.
fn skip_headers(request: &mut impl BufRead) -> io::Result<()> {
    let mut header = String::new();
    while request.read_line(&mut header)? > 2 {
        header.clear();
    }
    Ok(())
}

/// The path of a request to read something, without what follows a question mark.
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
