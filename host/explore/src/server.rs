//! The sockets, and the thread of the engine.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::rejection::{BytesRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header};
use axum::response::IntoResponse;
use host_session::base::Failure;
use tokio::sync::{mpsc, oneshot};

use crate::engine::{Engine, Explored};
use crate::guard::Guard;
use crate::refused::{Answer, Refused};
use crate::routes;
use crate::words::{Job, Words};

/// Bytes of a request: a trace that is opened.
const BODY_BYTES_MAX: usize = 32 << 20;

/// Jobs that wait for the engine; further requests wait for a place among them.
const JOBS_MAX: usize = 64;

/// The interval at which the server polls for an interrupt.
const POLLED_EVERY: Duration = Duration::from_millis(50);

/// The page may load its own script and style, ask this server, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

/// The headers of every answer. The address has the token, so no other page may learn it.
const HEADERS: [(header::HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// A job, and the recipient of its answer.
struct Task {
    job: Job,
    answer: oneshot::Sender<Answer>,
}

#[derive(Clone)]
struct Shared {
    guard: Guard,
    tasks: mpsc::Sender<Task>,
}

/// Serves the page until an interrupt. `announce` receives its address as soon as it answers; port 0 is any free port.
///
/// # Errors
///
/// The port is taken, the cluster does not start, or `announce` fails.
pub fn serve(
    explored: Explored<'_>,
    port: u16,
    announce: impl FnOnce(&str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let interrupted = Arc::clone(&explored.interrupted);
    let lts = explored.cluster.lts(explored.cluster.factory())?;
    let mut engine = Engine::new(explored, &lts)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let listener = listener.map_err(|error| {
        let failure = Failure::configuration(format_args!("`--port {port}`: 127.0.0.1 cannot be listened on: {error}"));
        failure.help("choose another port, or leave the option out for any free one")
    })?;
    let of_system = |error: std::io::Error| Failure::system(format_args!("the server does not start: {error}"));
    let port = listener.local_addr().map_err(of_system)?.port();
    listener.set_nonblocking(true).map_err(of_system)?;
    let guard = Guard::new(port).map_err(Failure::system)?;
    let address = guard.address();
    let (tasks, mut waiting) = mpsc::channel(JOBS_MAX);
    let shared = Shared { guard, tasks };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(of_system)?;
    let server = std::thread::spawn(move || runtime.block_on(listen(listener, shared, interrupted)));
    let announced = announce(&address);
    if announced.is_ok() {
        while let Some(Task { job, answer }) = waiting.blocking_recv() {
            // The client may have closed its connection.
            if !answer.is_closed() {
                let _ = answer.send(job(&mut engine));
            }
        }
    }
    drop(waiting);
    engine.end();
    announced?;
    let served = server.join().unwrap_or_else(|_| Err(std::io::Error::other("it has panicked")));
    served.map_err(|error| Failure::system(format_args!("the server has ended: {error}")))
}

/// Answers requests until an interrupt.
async fn listen(listener: TcpListener, shared: Shared, interrupted: Arc<AtomicBool>) -> std::io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let router = Router::new().fallback(answer).layer(DefaultBodyLimit::max(BODY_BYTES_MAX)).with_state(shared);
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    while !interrupted.load(Ordering::Relaxed) && !server.is_finished() {
        tokio::time::sleep(POLLED_EVERY).await;
    }
    // Pending requests get no answer: the runtime ends with this.
    server.abort();
    Ok(())
}

async fn answer(
    State(shared): State<Shared>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
    body: Result<Bytes, BytesRejection>,
) -> Response<Body> {
    let path = uri.path().trim_start_matches('/');
    let (token, rest) = path.split_once('/').unwrap_or((path, ""));
    if let Err(refused) = shared.guard.check(&headers, token) {
        return refuse(&refused);
    }
    if let (&Method::GET, Some((kind, content))) = (&method, routes::file(rest)) {
        return respond(StatusCode::OK, kind, Body::from(content));
    }
    let Ok(body) = body else {
        return refuse(&Refused::wrong(format_args!("a request has at most {BODY_BYTES_MAX} bytes")));
    };
    let query = query.map(|Query(query)| query.into_iter().collect()).unwrap_or_default();
    let answer = match routes::job(&Words { method: method.as_str(), path: rest, query, body: &body }) {
        Ok(job) => ask(&shared, job).await,
        Err(refused) => Err(refused),
    };
    match answer {
        Ok(json) => respond(StatusCode::OK, "application/json", Body::from(json)),
        Err(refused) => refuse(&refused),
    }
}

/// The answer of the engine.
async fn ask(shared: &Shared, job: Job) -> Answer {
    let ended = || Refused::conflict("the session is over");
    let (answer, answered) = oneshot::channel();
    shared.tasks.send(Task { job, answer }).await.map_err(|_| ended())?;
    answered.await.map_err(|_| ended())?
}

fn refuse(refused: &Refused) -> Response<Body> {
    let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::BAD_REQUEST);
    let json = serde_json::to_string(&refused.refusal).unwrap_or_default();
    respond(status, "application/json", Body::from(json))
}

fn respond(status: StatusCode, kind: &'static str, body: Body) -> Response<Body> {
    let mut response = (status, body).into_response();
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}
