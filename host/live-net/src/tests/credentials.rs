//! Certificates and keys that a node refuses.

use std::time::{Duration, SystemTime};

use rcgen::{CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, KeyPair, date_time_ymd};

use super::certificates::{Authority, Shown, of_an_authority};
use crate::{CredentialFile, Credentials, Tls, TlsError};

impl Shown {
    /// The same, as a node receives them.
    pub(super) fn of(&self) -> Credentials<'_> {
        Credentials {
            authority: self.authority.as_bytes(),
            certificate: self.certificate.as_bytes(),
            key: self.key.as_bytes(),
        }
    }

    /// Credentials that also trust another authority.
    pub(super) fn taking(self, other: &Authority) -> Self {
        Self { authority: self.authority + &other.pem(), ..self }
    }
}

/// Ends the validity of a certificate at this time.
pub(super) fn until(end: SystemTime) -> impl FnOnce(&mut CertificateParams) {
    let end = end.duration_since(SystemTime::UNIX_EPOCH).expect("it is later");
    move |params| params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs(end.as_secs())
}

/// The error of these credentials for node 1 of 3.
fn wrong(shown: &Shown) -> TlsError {
    Tls::new(1, 3, shown.of()).expect_err("no node runs with them")
}

#[test]
fn credentials_that_others_would_refuse_are_refused_at_the_start() {
    let (authority, other) = (Authority::new(), Authority::new());
    let right = authority.credentials(&["node-1", "localhost"]);
    assert!(Tls::new(1, 3, right.of()).is_ok());
    let text = || "node-1".to_owned();
    let of_another = other.credentials(&["node-1"]);
    let yesterday = SystemTime::now() - Duration::from_secs(86_400);
    let cases = [
        (Shown { authority: text(), ..right.clone() }, TlsError::NoCertificate(CredentialFile::Authority)),
        (Shown { authority: right.key.clone(), ..right.clone() }, TlsError::NoCertificate(CredentialFile::Authority)),
        (Shown { certificate: text(), ..right.clone() }, TlsError::NoCertificate(CredentialFile::Certificate)),
        (
            Shown { certificate: right.certificate.replace("END", "AND"), ..right.clone() },
            TlsError::NoCertificate(CredentialFile::Certificate),
        ),
        (Shown { key: right.certificate.clone(), ..right.clone() }, TlsError::NoKey),
        (Shown { key: of_another.key.clone(), ..right.clone() }, TlsError::WrongKey),
        (Shown { authority: other.pem(), ..right.clone() }, TlsError::Unsigned),
        (Shown { authority: right.authority.clone(), ..of_another }, TlsError::Unsigned),
        (authority.credentials_with(&["node-1"], until(yesterday)), TlsError::Expired),
        (
            authority.credentials_with(&["node-1"], |params| params.not_before = date_time_ymd(4_000, 1, 1)),
            TlsError::Expired,
        ),
        (authority.credentials(&["node-2"]), TlsError::Name(1)),
        (authority.credentials(&["localhost"]), TlsError::Name(1)),
        (authority.credentials(&["node-1", "node-2"]), TlsError::Name(1)),
        (authority.credentials(&["*.node-1", "node-10"]), TlsError::Name(1)),
    ];
    for (shown, error) in &cases {
        assert_eq!(wrong(shown), *error);
    }
    // No peer could connect to a node with this certificate.
    let for_clients = |params: &mut CertificateParams| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    };
    assert!(matches!(wrong(&authority.credentials_with(&["node-1"], for_clients)), TlsError::Certificate(_)));
}

/// A node's certificate comes with the certificates between the authority and the node.
#[test]
fn an_authority_may_have_another_one_sign() {
    let authority = Authority::new();
    let key = KeyPair::generate().expect("there is chance");
    let between = CertifiedIssuer::signed_by(of_an_authority("between"), key, &authority.0).expect("it can be written");
    let between = Authority(between);
    let alone = Shown { authority: authority.pem(), ..between.credentials(&["node-1"]) };
    assert_eq!(wrong(&alone), TlsError::Unsigned);
    let chain = Shown { certificate: alone.certificate.clone() + &between.pem(), ..alone };
    assert!(Tls::new(1, 3, chain.of()).is_ok());
}
