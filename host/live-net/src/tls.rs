//! Authentication of peers: mutual TLS between nodes.
//!
//! Node N is the peer with a certificate signed by an authority of the cluster, with `node-N`, and no other node, among its DNS names
//! (subjectAltName). The certificates themselves are not listed: renewing one would mean copying it to all nodes and restarting them. The
//! name is not that of a machine, since a machine may run several nodes, and a node may move.
//!
//! TLS 1.3 only, without resumption: the identity of a peer is checked for each connection. The accepting node confirms the connection by
//! one byte, since in TLS 1.3 the handshake of the connecting node ends before the other end has checked its certificate. After that byte,
//! the connection carries only frames, in one direction.

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

/// The maximum time of a handshake, with the byte that confirms it.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// The maximum time to read the rest of the bytes of a refused peer.
const HEARING_OUT: Duration = Duration::from_millis(500);
/// The byte that confirms a connection.
const TAKEN: [u8; 1] = [1];

/// The credentials of a node, and the authority for those of its peers: the contents of PEM files.
#[derive(Clone, Copy)]
pub struct Credentials<'a> {
    /// The certificates of the authority: one, or several while it changes.
    pub authority: &'a [u8],
    /// The certificate of the node, followed by intermediate certificates, if there are some.
    pub certificate: &'a [u8],
    /// Its private key.
    pub key: &'a [u8],
}

/// A file of the credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CredentialFile {
    /// The certificates of the authority.
    Authority,
    /// The certificate of the node.
    Certificate,
    /// Its key.
    Key,
}

/// An error in the credentials of a node; the text follows the name of the file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TlsError {
    /// The file has no certificate.
    #[error("there is no certificate in it: what it should hold begins with `-----BEGIN CERTIFICATE-----`")]
    NoCertificate(CredentialFile),
    /// The file has no private key.
    #[error("there is no private key in it: what it should hold begins with `-----BEGIN PRIVATE KEY-----`")]
    NoKey,
    /// The certificate of an authority cannot be read.
    #[error("a certificate in it cannot be used: {0}")]
    Authority(Error),
    /// The certificate cannot be used, for a reason other than the following.
    #[error("the certificate cannot be used: {0}")]
    Certificate(Error),
    /// The certificate has expired or is not valid yet; peers would refuse it.
    #[error("the certificate has expired, or is not valid yet")]
    Expired,
    /// The certificate is not signed by the authority; peers would refuse it.
    #[error("the authority has not signed the certificate")]
    Unsigned,
    /// The certificate is for another node, for none, or for several.
    #[error(
        "the certificate does not say that it is for node {0} alone: its DNS name (subjectAltName) has to be `node-{0}`"
    )]
    Name(NodeId),
    /// The key belongs to another certificate.
    #[error("the key does not fit the certificate")]
    WrongKey,
    /// For example, the key is of an unknown kind.
    #[error("the key cannot be used: {0}")]
    Key(Error),
}

impl TlsError {
    /// The file with the error.
    pub fn file(&self) -> CredentialFile {
        match self {
            Self::NoCertificate(file) => *file,
            Self::Authority(_) => CredentialFile::Authority,
            Self::Certificate(_) | Self::Expired | Self::Unsigned | Self::Name(_) => CredentialFile::Certificate,
            Self::NoKey | Self::WrongKey | Self::Key(_) => CredentialFile::Key,
        }
    }
}

/// Why a connection failed in authentication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerRejection {
    /// The peer does not speak TLS.
    Plaintext,
    /// It has no certificate.
    NoCertificate,
    /// The authority has not signed its certificate.
    Authority,
    /// Its certificate is out of date.
    Expired,
    /// Its certificate is for another node, for none, or for several.
    Name,
    /// Its certificate is invalid for another reason.
    Certificate,
    /// It refuses the certificate of this node.
    Refused,
    /// The handshake takes too long.
    Late,
    /// It closed the connection before it was authenticated.
    Closed,
    /// It violates the protocol, or has no version in common.
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

/// Makes the mutually authenticated connections of a node.
#[derive(Clone, Debug)]
pub struct Tls {
    nodes: u32,
    accepting: Arc<ServerConfig>,
    connecting: Arc<ClientConfig>,
}

impl Tls {
    /// Loads the credentials of a node in a cluster of this size. Credentials that peers would refuse are an error.
    ///
    /// # Errors
    ///
    /// The credentials cannot be read, do not match each other, or are not those of the node.
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

    /// Authenticates a peer that has connected. Gives up after [`HANDSHAKE`], or when it is cancelled.
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

    /// Authenticates both ends of a connection to a peer. Gives up after [`HANDSHAKE`], or when it is cancelled.
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

    /// The node that a certificate chain identifies.
    fn shown(&self, chain: Option<&[CertificateDer<'_>]>) -> Option<NodeId> {
        node_of(chain?.first()?, self.nodes)
    }
}

/// Restricts a configuration to TLS 1.3.
fn only_the_latest<S: ConfigSide>(builder: ConfigBuilder<S, WantsVersions>) -> ConfigBuilder<S, WantsVerifier> {
    builder.with_protocol_versions(&[&TLS13]).expect("the provider that is compiled in knows this version")
}

/// The certificates in a text.
fn certificates(pem: &[u8], file: CredentialFile) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    all.ok().filter(|all| !all.is_empty()).ok_or(TlsError::NoCertificate(file))
}

/// The name of a node in its certificate.
fn name(node: NodeId) -> ServerName<'static> {
    ServerName::try_from(format!("node-{node}")).expect("these are letters, a hyphen and digits")
}

/// The node that a certificate names; none if it names several.
fn node_of(certificate: &CertificateDer<'_>, nodes: u32) -> Option<NodeId> {
    let parsed = ParsedCertificate::try_from(certificate).ok()?;
    let mut named = (0..nodes).filter(|node| verify_server_name(&parsed, &name(*node)).is_ok());
    named.next().filter(|_| named.next().is_none())
}

/// Checks that peers accept the certificate of this node at both ends of a connection.
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

/// The error of a key.
fn of_the_key(error: Error) -> TlsError {
    match error {
        Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => TlsError::WrongKey,
        error => TlsError::Key(error),
    }
}

/// Performs a handshake within its time limit. The connection with a refused peer stays open until the peer has received the alert.
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
