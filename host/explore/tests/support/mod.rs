//! A client of a server on this machine, in as few words as HTTP allows.
#![allow(dead_code)] // Each test uses some of it.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// The frames of an answer about tiles: type tag, index, pixels, payload.
    pub fn frames(&self) -> Vec<(u8, u16, u32, Vec<u8>)> {
        let mut frames = Vec::new();
        let mut rest = &self.body[..];
        while !rest.is_empty() {
            assert_eq!(&rest[..4], b"TSTL");
            let number = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
            let length = number(12) as usize;
            let index = u16::from_le_bytes([rest[6], rest[7]]);
            frames.push((rest[4], index, number(8), rest[16..16 + length].to_vec()));
            rest = &rest[16 + length..];
        }
        frames
    }
}

/// Little-endian numbers.
pub fn counts(bytes: &[u8]) -> Vec<u32> {
    bytes
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

/// The header in which a client sends the token of the link.
pub const TOKEN: &str = "X-Trisolar-Token";

/// A server: its address, and the token of its link.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub address: SocketAddr,
    token: [u8; 32],
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

impl ToSocketAddrs for Place {
    type Iter = std::option::IntoIter<SocketAddr>;

    fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
        self.address.to_socket_addrs()
    }
}

/// The server to which a link leads.
pub fn address(link: &str) -> Place {
    let rest = link.strip_prefix("http://").expect("a link");
    let (address, token) = rest.split_once("/?token=").expect("a token");
    Place {
        address: address.parse().expect("an address"),
        token: token.as_bytes().try_into().expect("a token"),
    }
}

/// Sends bytes and reads what comes until the end.
pub fn raw(to: Place, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    stream.write_all(bytes)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

/// A request's head with these lines besides the usual ones, of which the token is one unless they have another.
pub fn head(method: &str, path: &str, to: Place, lines: &str) -> String {
    let token = match lines.contains(TOKEN) {
        true => String::new(),
        false => format!("{TOKEN}: {}\r\n", String::from_utf8_lossy(&to.token)),
    };
    format!("{method} {path} HTTP/1.1\r\nHost: {to}\r\nConnection: close\r\n{token}{lines}\r\n")
}

/// The head of a POST of so many bytes of JSON.
pub fn post_head(path: &str, to: Place, length: usize) -> String {
    let lines = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
    head("POST", path, to, &lines)
}

pub fn get(to: Place, path: &str) -> Answer {
    parse(&raw(to, head("GET", path, to, "").as_bytes()).expect("an answer"))
}

pub fn post(to: Place, path: &str, body: &serde_json::Value) -> Answer {
    let body = body.to_string();
    let request = format!("{}{body}", post_head(path, to, body.len()));
    parse(&raw(to, request.as_bytes()).expect("an answer"))
}

/// Takes an answer apart.
pub fn parse(bytes: &[u8]) -> Answer {
    let end = bytes
        .windows(4)
        .position(|w| w == b"\r\n\r\n")
        .expect("a head");
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|s| s.parse().ok())
        .expect("a status");
    let mut body = bytes[end + 4..].to_vec();
    if head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked")
    {
        body = unchunked(&body);
    }
    Answer { status, head, body }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|w| w == b"\r\n") {
        let length = std::str::from_utf8(&rest[..end]).expect("a length");
        let length = usize::from_str_radix(length.trim(), 16).expect("a length");
        if length == 0 {
            return body;
        }
        body.extend(&rest[end + 2..end + 2 + length]);
        rest = &rest[end + 4 + length..];
    }
    panic!("the answer breaks off");
}
