//! A minimal HTTP/1.1 server for clients and for metrics, sufficient for curl.
//!
//! One thread per connection, and one request at a time on each. The memory and time of a request are bounded; an invalid request is
//! refused with the reason, and the connection is closed.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};

use host_model::contract::{Request, Response};

use crate::accept::Listening;
use crate::board::{Board, Phase};
use crate::budget::{Budget, Exceeded, Share};
use crate::health;
use crate::limited::Limited;
use crate::wire::{Arrival, Asked, Port};

/// The limits of a port in operation.
const LIMITS: Limits =
    Limits { connections: 256, patience: Duration::from_secs(30), hearing_out: Duration::from_secs(2) };
/// Bytes of the head of a request.
const HEAD_MAX: usize = 16 << 10;
/// Bytes of the body of a request: a local event holds no more.
const BODY_MAX: usize = 1 << 20;
const HEADERS_MAX: usize = 64;

/// The state shared by the connections of a port.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) port: Port,
    pub(crate) arrivals: SyncSender<Arrival>,
    /// Memory that clients make the node hold.
    pub(crate) budget: Budget,
    pub(crate) stopped: Arc<AtomicBool>,
    /// The address for the clients of each node; empty without clients.
    pub(crate) clients: Arc<Vec<SocketAddr>>,
    /// The counts and the phase of the node.
    pub(crate) board: Arc<Board>,
    /// The path at which the protocol answers whether the node is ready, if it does.
    pub(crate) ready: Option<Arc<str>>,
}

/// The limits of a port. Tests use lower ones.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// The maximum number of connections; further ones are closed at once.
    pub(crate) connections: usize,
    /// The maximum time to be idle, to receive a request, and to send an answer, each.
    pub(crate) patience: Duration,
    /// The maximum time to read the rest of a refused request.
    pub(crate) hearing_out: Duration,
}

/// The end of a connection, after an answer if there is one.
struct Close(Option<Response>);

impl From<io::Error> for Close {
    fn from(_: io::Error) -> Self {
        Self(None)
    }
}

/// The head of a request.
struct Head {
    request: Request,
    /// Bytes of the head.
    length: usize,
    body: usize,
    keeps_open: bool,
    expects: bool,
}

impl Server {
    /// Listens at an address until the node ends, or the returned value is dropped.
    pub(crate) fn bind(self, address: SocketAddr) -> io::Result<Listening> {
        self.bind_within(address, LIMITS)
    }

    /// The same with other limits.
    pub(crate) fn bind_within(self, address: SocketAddr, limits: Limits) -> io::Result<Listening> {
        let open = Arc::<AtomicUsize>::default();
        Listening::open(address, Arc::clone(&self.stopped), move |stream| {
            if open.load(Ordering::Relaxed) >= limits.connections {
                return;
            }
            let (server, open) = (self.clone(), Arc::clone(&open));
            open.fetch_add(1, Ordering::Relaxed);
            std::thread::spawn(move || {
                server.serve(&stream, limits);
                open.fetch_sub(1, Ordering::Relaxed);
            });
        })
    }

    /// Answers the requests of a connection, one after the other.
    fn serve(&self, stream: &TcpStream, limits: Limits) {
        let is_over = || self.stopped.load(Ordering::Relaxed);
        let set_up = stream.set_nodelay(true);
        let Ok(mut client) = set_up.and_then(|()| Limited::new(stream, Instant::now(), &is_over)) else { return };
        let mut received = Received { bytes: Vec::new(), share: self.budget.share(self.port.account()) };
        while !is_over() {
            match self.serve_one(&mut client, limits.patience, &mut received) {
                Ok(true) => {}
                Ok(false) => return,
                Err(Close(answer)) => {
                    client.until = Instant::now() + limits.patience;
                    answer.iter().for_each(|answer| self.board.refuse(answer.status));
                    if let Some(answer) = answer
                        && self.write(&mut client, &answer, None).is_ok()
                    {
                        client.until = Instant::now() + limits.hearing_out;
                        client.hear_out(4 * BODY_MAX);
                    }
                    return;
                }
            }
        }
    }

    /// Answers the next request, possibly received in part already. Returns whether the connection stays open.
    fn serve_one(&self, client: &mut Limited<'_>, patience: Duration, received: &mut Received) -> Result<bool, Close> {
        client.until = Instant::now() + patience;
        let head = loop {
            if let Some(head) = head(&received.bytes)? {
                break head;
            }
            received.hear(client)?;
        };
        if head.expects {
            client.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        while received.bytes.len() < head.length + head.body {
            received.hear(client)?;
        }
        let _answering = self.board.answering();
        let body = received.bytes[head.length..head.length + head.body].to_vec();
        received.bytes.drain(..head.length + head.body);
        let answer = self.ask(Request { body, ..head.request.clone() });
        let _share = self.budget.take(self.port.account(), answer.body.len()).map_err(|Exceeded| {
            let why = "there is no room left for the answer: what was asked for may have happened\n";
            Close(Some(Response::words(503, why)))
        })?;
        client.until = Instant::now() + patience;
        self.write(client, &answer, Some(&head))?;
        // The memory of a long request is not kept for the next one, which may never arrive.
        received.give_back()?;
        Ok(head.keeps_open && !self.ends())
    }

    /// Whether the node takes no more requests.
    fn ends(&self) -> bool {
        self.board.phase() == Phase::Ends
    }

    /// The answer to a request: the board answers requests for metrics at once, and the node answers those of clients, up to a time-out.
    fn ask(&self, request: Request) -> Response {
        if let Some(probe) = request.path.strip_prefix(health::PREFIX) {
            let ready = self.ready.as_ref().map(|path| {
                let request = Request { method: "GET".to_owned(), path: path.to_string(), body: Vec::new() };
                move || self.ask_node(request, Some(health::PATIENCE))
            });
            return health::answer(&request.method, probe, self.board.phase(), ready);
        }
        match self.port {
            Port::Metrics if request.path == "/metrics" => return Response::words(200, self.board.text()),
            Port::Metrics => return Response::words(404, "there is /metrics\n"),
            Port::Clients if self.ends() => {
                self.board.refuse(503);
                return Response::words(503, "the node ends: nothing has happened; ask another node\n");
            }
            Port::Clients => {}
        }
        self.ask_node(request, None)
            .unwrap_or_else(|| Response::words(504, "no answer in time: what was asked for may happen or not\n"))
    }

    /// The answer of the node to a request, at most after this time; none if it has none.
    fn ask_node(&self, request: Request, patience: Option<Duration>) -> Option<Response> {
        let (reply, answer) = sync_channel(1);
        self.arrivals.send(Arrival::Asked(Asked { request, reply })).ok()?;
        match patience {
            None => answer.recv().ok(),
            Some(patience) => answer.recv_timeout(patience).ok(),
        }
    }

    /// Sends the answer to the request with this head. Without a head, the connection is closed then.
    fn write(&self, client: &mut Limited<'_>, answer: &Response, asked: Option<&Head>) -> io::Result<()> {
        let Response { status, body, ask } = answer;
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(*status));
        // These have no body, by definition.
        let has_body = !matches!(status, 204 | 304);
        if has_body {
            head += &format!("Content-Type: {}\r\nContent-Length: {}\r\n", self.port.content_type(), body.len());
        }
        if let Some(address) = ask.and_then(|node| self.clients.get(node as usize)) {
            let path = asked.map_or("", |asked| &asked.request.path);
            head += &format!("Location: http://{address}{path}\r\n");
        }
        if *status == 503 {
            head += "Retry-After: 1\r\n";
        }
        if asked.is_none_or(|asked| !asked.keeps_open) || self.ends() {
            head += "Connection: close\r\n";
        }
        head += "\r\n";
        let mut bytes = head.into_bytes();
        // For `HEAD`, the length is that of the body for `GET`.
        if has_body && asked.is_none_or(|asked| asked.request.method != "HEAD") {
            bytes.extend_from_slice(body);
        }
        client.write_all(&bytes)
    }
}

/// The bytes received from a client and not used yet, with their share of the budget.
struct Received {
    bytes: Vec<u8>,
    share: Share,
}

impl Received {
    /// Receives more bytes from a client.
    fn hear(&mut self, client: &mut Limited<'_>) -> Result<(), Close> {
        let mut more = [0; 1 << 13];
        match client.read(&mut more) {
            Ok(0) => Err(Close(None)),
            Ok(length) => {
                // A growing vector takes twice its bytes, and a request exists twice once it is passed to the node.
                self.share.resize(2 * (self.bytes.len() + length)).map_err(|Exceeded| {
                    Close(Some(Response::words(503, "there is no room left for requests: try again later\n")))
                })?;
                self.bytes.extend_from_slice(&more[..length]);
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                let late = Response::words(408, "the request takes too long\n");
                Err(Close((!self.bytes.is_empty()).then_some(late)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns memory that is no longer needed.
    fn give_back(&mut self) -> Result<(), Close> {
        self.bytes.shrink_to_fit();
        self.share.resize(2 * self.bytes.len()).map_err(|Exceeded| Close(None))
    }
}

/// The head at the beginning of these bytes; none if it is incomplete.
fn head(bytes: &[u8]) -> Result<Option<Head>, Close> {
    let refuse = |status, why: &str| Err(Close(Some(Response::words(status, format!("{why}\n")))));
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let length = match parsed.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_MAX => return Ok(None),
        Ok(httparse::Status::Partial) => return refuse(431, "the head of the request is too long"),
        Err(error) => return refuse(400, &format!("this is no request: {error}")),
    };
    if length > HEAD_MAX {
        return refuse(431, "the head of the request is too long");
    }
    let all = |name: &'static str| parsed.headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
    let first =
        |name| all(name).next().map(|header| String::from_utf8_lossy(header.value.trim_ascii()).to_ascii_lowercase());
    // Visitors of a web page have not agreed to its requests here. Some requests that a page can cause have no `Origin`.
    if first("origin").is_some() || first("sec-fetch-site").is_some_and(|site| site != "none") {
        return refuse(403, "requests of web pages are not taken");
    }
    if !all("host").all(|header| is_near(&String::from_utf8_lossy(header.value))) {
        return refuse(
            403,
            "the name in `Host` may be that of a web page: ask by an address, or by the name localhost",
        );
    }
    if first("transfer-encoding").is_some() {
        return refuse(411, "give the length of the body: pieces are not taken");
    }
    if all("content-length").count() > 1 {
        return refuse(400, "the request has several lengths");
    }
    // `parse` accepts a sign, but a length has none.
    let body = match first("content-length").map(|text| text.parse::<usize>().ok().filter(|_| !text.starts_with('+'))) {
        None => 0,
        Some(Some(body)) if body <= BODY_MAX => body,
        Some(Some(_)) => return refuse(413, &format!("the body is longer than {BODY_MAX} bytes")),
        Some(None) => return refuse(400, "the length of the body is no number"),
    };
    let path = parsed.path.unwrap_or_default();
    if !path.starts_with('/') {
        return refuse(400, "the path does not begin with `/`");
    }
    let request = Request { method: parsed.method.unwrap_or_default().into(), path: path.into(), body: Vec::new() };
    let connection = first("connection").unwrap_or_default();
    let keeps_open = if parsed.version == Some(1) { connection != "close" } else { connection == "keep-alive" };
    let expects = first("expect").is_some_and(|expect| expect == "100-continue");
    Ok(Some(Head { request, length, body, keeps_open, expects }))
}

/// Whether the `Host` of a request is an address or `localhost`.
///
/// The owner of any other name can resolve it to this machine, as can a search domain for names without a dot. A page under that name then
/// sends requests to its own site, and may read the answers (DNS rebinding). Such requests have no `Origin`, and without TLS no
/// `Sec-Fetch-Site` either, so only the name distinguishes them from those of curl.
fn is_near(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok())
        || name.parse::<Ipv4Addr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
}

/// The reason phrase of a status; no client depends on it.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        307 => "Temporary Redirect",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        411 => "Length Required",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        507 => "Insufficient Storage",
        _ => "",
    }
}
