//! The authority that signs the certificates of nodes.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// An authority with its own key.
pub struct Authority(pub CertifiedIssuer<'static, KeyPair>);

/// The credentials of a node as PEM texts.
#[derive(Clone)]
pub struct Shown {
    pub authority: String,
    pub certificate: String,
    pub key: String,
}

impl Authority {
    /// A self-signed authority.
    pub fn new() -> Self {
        let key = KeyPair::generate().expect("there is chance");
        Self(CertifiedIssuer::self_signed(of_an_authority("root"), key).expect("it can be written"))
    }

    /// Its certificate.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for these DNS names, and its key.
    pub fn credentials(&self, names: &[&str]) -> Shown {
        self.credentials_with(names, |_| {})
    }

    /// The same with changed parameters.
    pub fn credentials_with(&self, names: &[&str], change: impl FnOnce(&mut CertificateParams)) -> Shown {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("they are DNS names");
        change(&mut params);
        let key = KeyPair::generate().expect("there is chance");
        let certificate = params.signed_by(&key, &self.0).expect("it can be written");
        Shown { authority: self.pem(), certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// The parameters of an authority's certificate.
pub fn of_an_authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params
}
