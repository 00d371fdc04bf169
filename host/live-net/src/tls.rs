//! Who a peer is: TLS between nodes, where both ends show a certificate.
//!
//! Node N is the peer with a certificate that an authority of the cluster has signed, and that has `node-N`, and no other node, among its
//! DNS names (subjectAltName). The certificates themselves are not listed: to renew one would mean to carry it to all nodes and to start
//! them again. And the name is not that of a machine, since several nodes may run on one, and one of them may move.
//!
//! TLS 1.3 only, and nothing is resumed: the identity of a peer is checked for each connection. The connecting peer learns of its acceptance by one byte,
//! since in TLS 1.3 its own handshake ends before the other end has seen its certificate. After that byte nothing but frames goes over
//! the connection, in one direction.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use host_model::contract::NodeId;
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{Resumption, WebPkiServerVerifier, verify_server_name};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{CertificateError, Error, InconsistentKeys, InvalidMessage};
use rustls::{ClientConfig, ClientConnection, ConfigBuilder, ConfigSide, WantsVerifier, WantsVersions};
use rustls::{RootCertStore, ServerConfig, ServerConnection, Stream, StreamOwned};

use crate::limited::Limited;

/// How long a handshake may take, the byte that follows included.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// How long a peer that is refused is heard.
const HEARING_OUT: Duration = Duration::from_millis(500);
/// What a node says to a peer that it takes.
const TAKEN: [u8; 1] = [1];

/// What a node shows, and by what it judges what others show: the contents of files in PEM.
#[derive(Clone, Copy)]
pub struct Credentials<'a> {
    /// The certificates of those who may sign: one, or several while the authority changes.
    pub authority: &'a [u8],
    /// The certificate of the node, followed by those between it and the authority, if there are some.
    pub certificate: &'a [u8],
    /// Its private key.
    pub key: &'a [u8],
}

/// Which of the credentials is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialFile {
    /// The certificates of those who may sign.
    Authority,
    /// The certificate of the node.
    Certificate,
    /// Its key.
    Key,
}

/// What is wrong with the credentials of a node, as a sentence that follows the name of the file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TlsError {
    /// There is none.
    #[error("there is no certificate in it: what it should hold begins with `-----BEGIN CERTIFICATE-----`")]
    NoCertificate(CredentialFile),
    /// There is none.
    #[error("there is no private key in it: what it should hold begins with `-----BEGIN PRIVATE KEY-----`")]
    NoKey,
    /// The certificate of an authority cannot be read.
    #[error("a certificate in it cannot be used: {0}")]
    Authority(Error),
    /// The certificate cannot be used for another reason than those below.
    #[error("the certificate cannot be used: {0}")]
    Certificate(Error),
    /// It is out of date, and others would refuse it.
    #[error("the certificate has expired, or is not valid yet")]
    Expired,
    /// It is from somewhere else, and others would refuse it.
    #[error("the authority has not signed the certificate")]
    Unsigned,
    /// It is for another node, for none, or for several.
    #[error(
        "the certificate does not say that it is for node {0} alone: its DNS name (subjectAltName) has to be `node-{0}`"
    )]
    Name(NodeId),
    /// It belongs to another certificate.
    #[error("the key does not fit the certificate")]
    WrongKey,
    /// It is of a kind that is not known here, say.
    #[error("the key cannot be used: {0}")]
    Key(Error),
}

impl TlsError {
    /// Which of the credentials is wrong.
    pub fn file(&self) -> CredentialFile {
        match self {
            Self::NoCertificate(file) => *file,
            Self::Authority(_) => CredentialFile::Authority,
            Self::Certificate(_) | Self::Expired | Self::Unsigned | Self::Name(_) => CredentialFile::Certificate,
            Self::NoKey | Self::WrongKey | Self::Key(_) => CredentialFile::Key,
        }
    }
}

/// Why there is no connection with a peer that proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerRejection {
    /// The peer does not speak TLS.
    Plaintext,
    /// It shows no certificate.
    NoCertificate,
    /// The authority has not signed its certificate.
    Authority,
    /// Its certificate is out of date.
    Expired,
    /// Its certificate is not that of the node, or of no single one.
    Name,
    /// Its certificate is wrong in another way.
    Certificate,
    /// It does not take what this node shows.
    Refused,
    /// The handshake takes too long.
    Late,
    /// It has closed the connection before it was known.
    Closed,
    /// It breaks the rules of TLS, or knows no version in common.
    Protocol,
}

impl PeerRejection {
    /// Its name, for metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plaintext => "plaintext",
            Self::NoCertificate => "no-certificate",
            Self::Authority => "authority",
            Self::Expired => "expired",
            Self::Name => "name",
            Self::Certificate => "certificate",
            Self::Refused => "refused-by-peer",
            Self::Late => "timeout",
            Self::Closed => "closed",
            Self::Protocol => "protocol",
        }
    }
}

impl From<&Error> for PeerRejection {
    fn from(error: &Error) -> Self {
        use CertificateError as Wrong;
        match error {
            Error::InvalidMessage(InvalidMessage::InvalidContentType) => Self::Plaintext,
            Error::NoCertificatesPresented => Self::NoCertificate,
            Error::InvalidCertificate(wrong) => match wrong {
                Wrong::UnknownIssuer | Wrong::BadSignature => Self::Authority,
                Wrong::Expired | Wrong::ExpiredContext { .. } => Self::Expired,
                Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => Self::Expired,
                Wrong::NotValidForName | Wrong::NotValidForNameContext { .. } => Self::Name,
                _ => Self::Certificate,
            },
            Error::AlertReceived(_) => Self::Refused,
            _ => Self::Protocol,
        }
    }
}

impl From<Error> for PeerRejection {
    fn from(error: Error) -> Self {
        (&error).into()
    }
}

impl From<io::Error> for PeerRejection {
    fn from(error: io::Error) -> Self {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
            Some(error) => error.into(),
            None if error.kind() == io::ErrorKind::TimedOut => Self::Late,
            None => Self::Closed,
        }
    }
}

/// Connections of a node on which each end knows who the other one is.
#[derive(Clone, Debug)]
pub struct Tls {
    nodes: u32,
    accepting: Arc<ServerConfig>,
    connecting: Arc<ClientConfig>,
}

impl Tls {
    /// The connections of a node of a cluster with this many of them. What others would refuse is an error here.
    ///
    /// # Errors
    ///
    /// The credentials cannot be read, do not go together, or are not those of the node.
    pub fn new(node: NodeId, nodes: u32, credentials: Credentials<'_>) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(credentials.authority, CredentialFile::Authority)? {
            roots.add(certificate).map_err(TlsError::Authority)?;
        }
        let (roots, provider) = (Arc::new(roots), Arc::new(default_provider()));
        let chain = certificates(credentials.certificate, CredentialFile::Certificate)?;
        let key = PrivateKeyDer::from_pem_slice(credentials.key).map_err(|_| TlsError::NoKey)?;
        let none_is_revoked = "lists of revoked certificates can be wrong, and there are none";
        let clients = WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider));
        let clients = clients.build().expect(none_is_revoked);
        let servers = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
        let servers = servers.build().expect(none_is_revoked);
        check(&chain, node, nodes, &*clients, &*servers)?;
        let accepting = only_the_latest(ServerConfig::builder_with_provider(Arc::clone(&provider)));
        let accepting = accepting.with_client_cert_verifier(clients).with_single_cert(chain.clone(), key.clone_key());
        let connecting = only_the_latest(ClientConfig::builder_with_provider(provider)).with_webpki_verifier(servers);
        let connecting = connecting.with_client_auth_cert(chain, key);
        let (mut accepting, mut connecting) = (accepting.map_err(of_the_key)?, connecting.map_err(of_the_key)?);
        accepting.send_tls13_tickets = 0;
        connecting.resumption = Resumption::disabled();
        Ok(Self { nodes, accepting: Arc::new(accepting), connecting: Arc::new(connecting) })
    }

    /// Finds out who has connected. Gives up after a while, or when it is over.
    pub(crate) fn accept(
        &self,
        stream: TcpStream,
        is_over: &dyn Fn() -> bool,
    ) -> Result<(NodeId, StreamOwned<ServerConnection, TcpStream>), PeerRejection> {
        let mut connection = ServerConnection::new(Arc::clone(&self.accepting))?;
        let peer = within_time(&stream, is_over, |limited| {
            connection.complete_io(limited)?;
            let peer = self.shown(connection.peer_certificates()).ok_or(PeerRejection::Name)?;
            let mut encrypted = Stream::new(&mut connection, limited);
            encrypted.write_all(&TAKEN).and_then(|()| encrypted.flush())?;
            Ok(peer)
        })?;
        Ok((peer, StreamOwned::new(connection, stream)))
    }

    /// Makes sure that a peer is this node, and that it takes this one. Gives up after a while, or when it is over.
    pub(crate) fn connect(
        &self,
        stream: TcpStream,
        peer: NodeId,
        is_over: &dyn Fn() -> bool,
    ) -> Result<StreamOwned<ClientConnection, TcpStream>, PeerRejection> {
        let mut connection = ClientConnection::new(Arc::clone(&self.connecting), name(peer))?;
        within_time(&stream, is_over, |limited| {
            connection.complete_io(limited)?;
            if self.shown(connection.peer_certificates()) != Some(peer) {
                return Err(PeerRejection::Name);
            }
            Ok(Stream::new(&mut connection, limited).read_exact(&mut [0; TAKEN.len()])?)
        })?;
        Ok(StreamOwned::new(connection, stream))
    }

    /// The node that certificates are of.
    fn shown(&self, chain: Option<&[CertificateDer<'_>]>) -> Option<NodeId> {
        node_of(chain?.first()?, self.nodes)
    }
}

/// A later version needs no code of an earlier one.
fn only_the_latest<S: ConfigSide>(builder: ConfigBuilder<S, WantsVersions>) -> ConfigBuilder<S, WantsVerifier> {
    builder.with_protocol_versions(&[&TLS13]).expect("the provider knows it")
}

/// The certificates in a text.
fn certificates(pem: &[u8], file: CredentialFile) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    all.ok().filter(|all| !all.is_empty()).ok_or(TlsError::NoCertificate(file))
}

/// What a certificate calls a node.
fn name(node: NodeId) -> ServerName<'static> {
    ServerName::try_from(format!("node-{node}")).expect("these are letters, a hyphen and digits")
}

/// The one node that a certificate names.
fn node_of(certificate: &CertificateDer<'_>, nodes: u32) -> Option<NodeId> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    let mut named = (0..nodes).filter(|node| verify_server_name(&parsed, &name(*node)).is_ok());
    named.next().filter(|_| named.next().is_none())
}

/// Whether others take this node at both ends of a connection.
fn check(
    chain: &[CertificateDer<'_>],
    node: NodeId,
    nodes: u32,
    clients: &dyn ClientCertVerifier,
    servers: &dyn ServerCertVerifier,
) -> Result<(), TlsError> {
    let (first, others) = chain.split_first().ok_or(TlsError::NoCertificate(CredentialFile::Certificate))?;
    let now = UnixTime::now();
    let as_client = clients.verify_client_cert(first, others, now).map(drop);
    let as_server = || servers.verify_server_cert(first, others, &name(node), &[], now).map(drop);
    as_client.and_then(|()| as_server()).map_err(|error| match PeerRejection::from(&error) {
        PeerRejection::Expired => TlsError::Expired,
        PeerRejection::Authority => TlsError::Unsigned,
        PeerRejection::Name => TlsError::Name(node),
        _ => TlsError::Certificate(error),
    })?;
    if node_of(first, nodes) == Some(node) { Ok(()) } else { Err(TlsError::Name(node)) }
}

/// What is wrong with a key.
fn of_the_key(error: Error) -> TlsError {
    match error {
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => TlsError::WrongKey,
        error => TlsError::Key(error),
    }
}

/// The result of a handshake, within its time. A connection with a peer that is refused is not closed before it has heard why.
fn within_time<T>(
    stream: &TcpStream,
    is_over: &dyn Fn() -> bool,
    handshake: impl FnOnce(&mut Limited<'_>) -> Result<T, PeerRejection>,
) -> Result<T, PeerRejection> {
    let mut limited = Limited::new(stream, Instant::now() + HANDSHAKE, is_over)?;
    let result = handshake(&mut limited);
    if result.is_ok() {
        stream.set_write_timeout(None)?;
    } else {
        limited.until = limited.until.min(Instant::now() + HEARING_OUT);
        limited.hear_out(usize::MAX);
    }
    result
}
