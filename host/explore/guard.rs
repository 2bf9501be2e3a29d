//! Checks the origin of requests: who has the link is allowed; other pages in the browser, and other users of a machine that many
//! share, are not.

use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hyper::header::{self, HeaderMap};
use hyper::{Method, Uri};

/// The header in which the page sends the token of its link.
const TOKEN: &str = "x-trisolar-token";

/// The requirements of a request.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The token of the link.
    token: String,
    /// Gives the token once, to the browser that this program starts: other users see the arguments of that browser.
    ticket: Mutex<Option<String>>,
    /// Whether the server only listens to this machine.
    is_loopback: bool,
}

/// The reason why a request is refused.
pub(crate) type Refused = &'static str;

impl Guard {
    /// The guard of a server that listens on this address.
    pub fn new(address: IpAddr) -> Result<Self, getrandom::Error> {
        Ok(Self {
            token: secret()?,
            ticket: Mutex::new(Some(secret()?)),
            is_loopback: address.is_loopback(),
        })
    }

    /// The token of the link.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The ticket, until it is used.
    pub fn ticket(&self) -> Option<String> {
        self.lock_ticket().clone()
    }

    /// The token, in exchange for the ticket in the query of a request for the page; an error if the ticket is another one or is used.
    pub fn exchange(&self, uri: &Uri) -> Option<Result<&str, Refused>> {
        let given = uri.query()?.strip_prefix("ticket=")?;
        let mut ticket = self.lock_ticket();
        if ticket.as_deref().is_some_and(|ticket| equal(ticket, given)) {
            *ticket = None;
            return Some(Ok(&self.token));
        }
        Some(Err(
            "this link has been opened before; open the link that the program printed",
        ))
    }

    fn lock_ticket(&self) -> MutexGuard<'_, Option<String>> {
        self.ticket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that a request is sent to this server under its own name, not by another page, and with the token.
    ///
    /// # Errors
    /// The reason why it is refused.
    pub fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refused> {
        if headers.get_all(header::HOST).iter().count() != 1 {
            return Err("a request needs exactly one Host header");
        }
        let host = text(headers, "host").ok_or("the Host header is not text")?;
        // Another site can resolve its name to this machine, but the browser still sends that name.
        if self.is_loopback && !is_loopback_name(host) {
            return Err("Host must be this machine");
        }
        if headers.contains_key(header::ORIGIN) {
            let origin = text(headers, "origin").and_then(|origin| origin.strip_prefix("http://"));
            if origin != Some(host) {
                return Err("Origin must be this server");
            }
        }
        let site = text(headers, "sec-fetch-site");
        let opened = method == Method::GET && uri.path() == "/";
        if !opened && site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return Err("another page may not use this server");
        }
        let is_api = uri.path().starts_with("/api/");
        if is_api && !equal(&self.token, text(headers, TOKEN).unwrap_or_default()) {
            return Err("the token of the link is missing; open the whole link");
        }
        Ok(())
    }
}

/// 128 random bits.
fn secret() -> Result<String, getrandom::Error> {
    let mut random = [0_u8; 16];
    getrandom::fill(&mut random)?;
    Ok(random.iter().map(|b| format!("{b:02x}")).collect())
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Whether a Host names this machine by its loopback address. The port may be another one, that of a tunnel.
fn is_loopback_name(host: &str) -> bool {
    let (name, port) = match host.rfind(':') {
        Some(at) if !host.ends_with(']') => (&host[..at], &host[at + 1..]),
        _ => (host, "80"),
    };
    let is_port = port.parse::<u16>().is_ok();
    let address = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
        .unwrap_or(name);
    let is_name = address.eq_ignore_ascii_case("localhost")
        || address
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback());
    is_port && is_name
}

/// Compares in a time that does not depend on where they differ.
fn equal(a: &str, b: &str) -> bool {
    let differing = a
        .bytes()
        .zip(b.bytes())
        .fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(guard: &Guard, path: &str, headers: &[(&'static str, &str)]) -> Result<(), Refused> {
        let mut map = HeaderMap::new();
        if !headers.iter().any(|(name, _)| *name == TOKEN) {
            map.append(TOKEN, guard.token().parse().unwrap());
        }
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        guard.check(&Method::POST, &path.parse().unwrap(), &map)
    }

    #[test]
    fn on_loopback_the_host_must_be_this_machine_and_the_origin_this_server() {
        let guard = Guard::new("127.0.0.1".parse().unwrap()).unwrap();
        for host in [
            "127.0.0.1:8000",
            "localhost:9",
            "[::1]:80",
            "LOCALHOST",
            "127.9.9.9:1",
        ] {
            assert_eq!(
                check(&guard, "/api/tiles", &[("host", host)]),
                Ok(()),
                "{host}"
            );
            let origin = format!("http://{host}");
            let same = [("host", host), ("origin", origin.as_str())];
            assert_eq!(check(&guard, "/api/tiles", &same), Ok(()));
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example:80",
            "10.0.0.1:80",
            "",
            "localhost:x",
        ] {
            assert!(
                check(&guard, "/api/tiles", &[("host", host)]).is_err(),
                "{host}"
            );
        }
        for origin in [
            "http://evil.example",
            "null",
            "https://localhost:9",
            "http://localhost:10",
            "",
        ] {
            let other = [("host", "localhost:9"), ("origin", origin)];
            assert!(check(&guard, "/api/tiles", &other).is_err(), "{origin}");
        }
        for site in ["cross-site", "same-site", "anything"] {
            let other = [("host", "localhost:9"), ("sec-fetch-site", site)];
            assert!(check(&guard, "/api/tiles", &other).is_err(), "{site}");
        }
        assert!(check(&guard, "/api/tiles", &[]).is_err());
        assert!(
            check(
                &guard,
                "/api/tiles",
                &[("host", "localhost"), ("host", "localhost")]
            )
            .is_err()
        );
    }

    #[test]
    fn the_token_is_needed_at_every_address() {
        for (address, host) in [
            ("0.0.0.0", "node7.cluster:8000"),
            ("127.0.0.1", "127.0.0.1:8000"),
        ] {
            let guard = Guard::new(address.parse().unwrap()).unwrap();
            let token = guard.token().to_owned();
            assert_eq!(token.len(), 32);
            let host = ("host", host);
            assert_eq!(
                check(&guard, "/api/tiles", &[host, (TOKEN, &token)]),
                Ok(())
            );
            for wrong in ["", "0", &token[1..], &token.replace(&token[..1], "g")] {
                assert!(
                    check(&guard, "/api/tiles", &[host, (TOKEN, wrong)]).is_err(),
                    "{wrong}"
                );
            }
            // The page itself is not secret.
            assert_eq!(check(&guard, "/style.css", &[host, (TOKEN, "")]), Ok(()));
            let other = Guard::new(address.parse().unwrap()).unwrap();
            assert_ne!(other.token(), token);
        }
    }
}
