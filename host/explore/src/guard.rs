//! Requests that are not from the page: of another host, another origin, or without the token.

use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};

use crate::refused::Refused;

/// Bytes of the token, each two digits of it.
const TOKEN_BYTES: usize = 16;

/// The requirements of a request.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The first segment of the path.
    pub token: String,
    port: u16,
}

impl Guard {
    /// For the server of a port, with a new token.
    ///
    /// # Errors
    ///
    /// The system has no random numbers.
    pub fn new(port: u16) -> Result<Self, String> {
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes).map_err(|error| format!("no random numbers for the address: {error}"))?;
        Ok(Self { token: bytes.iter().map(|byte| format!("{byte:02x}")).collect(), port })
    }

    /// The address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Refuses requests from elsewhere: a name of another host that leads here, a page of another origin that sends requests here, and
    /// a program that does not know the token get the same answer.
    ///
    /// # Errors
    ///
    /// The request is not from the page.
    pub fn check(&self, headers: &HeaderMap, token: &str) -> Result<(), Refused> {
        let refused = || Refused::forbidden("this request is not from the page of `host explore`");
        let hosts = ["127.0.0.1", "localhost"].map(|host| format!("{host}:{}", self.port));
        let mut named = headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
        let host = named.next().filter(|host| hosts.iter().any(|ours| ours == host)).ok_or_else(refused)?;
        if named.next().is_some() {
            return Err(refused());
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        let is_ours = |origin: &[u8]| origin.strip_prefix(b"http://") == Some(host.as_bytes());
        if !origins.all(|origin| is_ours(origin.as_bytes())) {
            return Err(refused());
        }
        // A browser says where a request is from; `none` is an address that a person has typed or clicked outside of any page.
        let mut sites = headers.get_all("sec-fetch-site").iter();
        if !sites.all(|site| [&b"same-origin"[..], b"none"].contains(&site.as_bytes())) {
            return Err(refused());
        }
        if is_same(token.as_bytes(), self.token.as_bytes()) { Ok(()) } else { Err(refused()) }
    }
}

/// Whether two texts are equal, in a time that does not depend on the position of the first difference.
fn is_same(one: &[u8], other: &[u8]) -> bool {
    let differences = one.iter().zip(other).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_the_page_is_answered() {
        let guard = Guard::new(4000).expect("random numbers");
        assert_ne!(guard.token, Guard::new(4000).expect("random numbers").token);
        assert_eq!(guard.token.len(), 32);
        let is_answered = |headers: &[(&'static str, &str)], token: &str| {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.append(*name, HeaderValue::from_str(value).expect("a value"));
            }
            guard.check(&map, token).is_ok()
        };
        let (host, ours) = (("host", "127.0.0.1:4000"), guard.token.as_str());
        assert!(is_answered(&[host], ours));
        assert!(is_answered(&[("host", "localhost:4000"), ("origin", "http://localhost:4000")], ours));
        assert!(is_answered(&[host, ("sec-fetch-site", "same-origin")], ours));
        assert!(is_answered(&[host, ("sec-fetch-site", "none")], ours));
        for other in [
            &[][..],
            &[("host", "127.0.0.1:4001")],
            &[("host", "attacker.example:4000")],
            &[("host", "127.0.0.1:4000.attacker.example")],
            &[host, ("host", "attacker.example")],
            &[host, ("origin", "http://attacker.example")],
            &[host, ("origin", "null")],
            &[host, ("origin", "http://127.0.0.1:4001")],
            &[host, ("origin", "https://127.0.0.1:4000")],
            &[host, ("sec-fetch-site", "cross-site")],
            &[host, ("sec-fetch-site", "same-site")],
        ] {
            assert!(!is_answered(other, ours), "{other:?}");
        }
        let (begun, longer) = (&ours[..31], format!("{ours}0"));
        for other in ["", "0", begun, &longer, "00000000000000000000000000000000"] {
            assert!(!is_answered(&[host], other), "{other}");
        }
    }
}
