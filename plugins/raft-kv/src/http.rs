//! Requests and answers in the terms of HTTP.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guest_sdk::{NodeId, Request, Response};
use percent_encoding::percent_decode_str;
use serde::Serialize;

use crate::store::PAGE_KEYS_MAX;
use crate::{Condition, Item, Once, Operation, Outcome, Page, RaftKv, Range, Revision, SessionId, Write};

/// Bytes of the longest key and of the longest value.
const KEY_MAX: usize = 256;
const VALUE_MAX: usize = 64 << 10;

/// The maximum number of keys in a page whose request does not say it.
const PAGE_KEYS: u32 = 100;

/// The method, the key and the parameters of a request.
struct Asked {
    method: String,
    key: String,
    query: BTreeMap<String, String>,
}

/// The operation of a request, with its name in a search.
///
/// # Errors
///
/// The answer to a request that has none.
pub(crate) fn operation(protocol: &RaftKv, request: Request) -> Result<(&'static str, Operation), Response> {
    let Request { method, path, body } = request;
    let mut asked = Asked::read(method, &path)?;
    let method = asked.method.clone();
    if method == "POST" && asked.key == "sessions" && asked.query.is_empty() {
        return match protocol.sessions {
            0 => Err(refuse("this cluster has no sessions: its file needs `sessions`, such as `sessions = 1000`")),
            sessions_max => Ok(("open", Operation::Open(sessions_max))),
        };
    }
    if asked.key.is_empty() && !(asked.query.contains_key("prefix") && is_read(&method)) {
        return Err(Response::new(404).body("name a key, as in /color, or a range, as in /?prefix=co\n"));
    }
    if asked.key.len() > KEY_MAX || body.len() > VALUE_MAX {
        return Err(Response::new(413).body("a key has at most 256 bytes, a value 65536\n"));
    }
    let named = match method.as_str() {
        _ if is_read(&method) && asked.key.is_empty() => ("range", asked.range()?),
        _ if is_read(&method) => match asked.flag("json")? {
            true => ("get", Operation::Find(asked.key.clone())),
            false => ("get", Operation::Get(asked.key.clone())),
        },
        "PUT" => ("put", asked.write_of_session(protocol, Some(body))?),
        "DELETE" => ("delete", asked.write_of_session(protocol, None)?),
        _ => return Err(Response::new(405).body("there are GET, PUT and DELETE, and POST /sessions\n")),
    };
    match asked.query.keys().next() {
        None => Ok(named),
        Some(other) => Err(refuse(&format!(
            "{method} has no parameter {other:?} here: a write has `if-match`, `if-none-match`, `session` and `serial`, a read of a key `json`, a range \
             `prefix`, `after` and `limit`"
        ))),
    }
}

fn is_read(method: &str) -> bool {
    matches!(method, "GET" | "HEAD")
}

fn refuse(why: &str) -> Response {
    Response::new(400).body(format!("{why}\n"))
}

/// The text that a path or a part of a query stands for.
fn decoded(text: &str) -> Result<String, Response> {
    let is_escape = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    if !text.split('%').skip(1).all(is_escape) {
        return Err(refuse("a `%` begins two hexadecimal digits: write `%25` for the character itself"));
    }
    let bytes = percent_decode_str(text);
    let text = bytes.decode_utf8().map_err(|_| refuse("keys are UTF-8: encode other bytes, such as by Base64"))?;
    Ok(text.into_owned())
}

impl Asked {
    fn read(method: String, path: &str) -> Result<Self, Response> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let key = decoded(path.trim_start_matches('/'))?;
        let mut parameters = BTreeMap::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            // In a query, a plus sign stands for a space.
            let [name, value] = [name, value].map(|text| decoded(&text.replace('+', " ")));
            let (name, value) = (name?, value?);
            if parameters.contains_key(&name) {
                return Err(refuse(&format!("the parameter {name:?} is given twice")));
            }
            parameters.insert(name, value);
        }
        Ok(Self { method, key, query: parameters })
    }

    fn flag(&mut self, name: &str) -> Result<bool, Response> {
        match self.query.remove(name).as_deref() {
            None | Some("false") => Ok(false),
            Some("" | "true") => Ok(true),
            Some(other) => Err(refuse(&format!("`{name}` is `true` or `false`, not {other:?}"))),
        }
    }

    fn range(&mut self) -> Result<Operation, Response> {
        let [prefix, after] = ["prefix", "after"].map(|name| self.query.remove(name).unwrap_or_default());
        if prefix.len() > KEY_MAX || after.len() > KEY_MAX {
            return Err(Response::new(413).body("a key has at most 256 bytes\n"));
        }
        let limit = match self.query.remove("limit") {
            None => PAGE_KEYS,
            Some(text) => text
                .parse()
                .ok()
                .filter(|limit| (1..=PAGE_KEYS_MAX).contains(limit))
                .ok_or_else(|| refuse(&format!("`limit` is a number from 1 to {PAGE_KEYS_MAX}, not {text:?}")))?,
        };
        Ok(Operation::Range(Range { prefix, after, limit }))
    }

    /// A write, of a session if the request names one.
    fn write_of_session(&mut self, protocol: &RaftKv, value: Option<Vec<u8>>) -> Result<Operation, Response> {
        let [session, serial] = ["session", "serial"].map(|name| self.query.remove(name));
        let write = self.write(value, protocol.revisions)?;
        match (session, serial) {
            (None, None) => Ok(write),
            (Some(_), Some(_)) if protocol.sessions == 0 => {
                Err(refuse("this cluster has no sessions: its file needs `sessions`"))
            }
            (Some(session), Some(serial)) => {
                let session =
                    session.parse().map_err(|_| refuse("`session` is a number, as `POST /sessions` answers it"))?;
                let serial = serial.parse().ok().filter(|serial| *serial > 0);
                let serial = serial.ok_or_else(|| {
                    refuse("`serial` is 1 for the first write of a session, and larger for each next one")
                })?;
                Ok(Operation::Once(Once { session, serial, write: Box::new(write) }))
            }
            _ => Err(refuse(
                "give `session` and `serial` together: the serial numbers distinguish the writes of a session",
            )),
        }
    }

    fn write(&mut self, value: Option<Vec<u8>>, has_revisions: bool) -> Result<Operation, Response> {
        let condition = self.condition()?;
        let key = self.key.clone();
        match (has_revisions, condition, value) {
            (true, condition, value) => Ok(Operation::Write(Write { key, value, condition })),
            (false, Condition::None, Some(value)) => Ok(Operation::Put(key, value)),
            (false, Condition::None, None) => Ok(Operation::Delete(key)),
            (false, ..) => Err(refuse("this cluster has no revisions: its file needs `revisions = true`")),
        }
    }

    fn condition(&mut self) -> Result<Condition, Response> {
        let [matches, absent] = ["if-match", "if-none-match"].map(|name| self.query.remove(name));
        match (matches.as_deref(), absent.as_deref()) {
            (None, None) => Ok(Condition::None),
            (Some("*"), None) => Ok(Condition::Present),
            (None, Some("*")) => Ok(Condition::Absent),
            (Some(text), None) => text.parse().map(Condition::Revision).map_err(|_| {
                refuse(&format!("`if-match` is a revision, as `GET /KEY?json` says it, or `*`, not {text:?}"))
            }),
            (None, Some(text)) => {
                Err(refuse(&format!("`if-none-match` is `*` for a key without a value, not {text:?}")))
            }
            (Some(_), Some(_)) => Err(refuse("give `if-match` or `if-none-match`, not both")),
        }
    }
}

/// A key in an answer. Values are bytes, which JSON has only as text: Base64 as in the interfaces of etcd and Consul.
#[derive(Serialize)]
struct ShownItem<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    revision: Revision,
    value: String,
}

#[derive(Serialize)]
struct ShownPage<'a> {
    revision: Revision,
    items: Vec<ShownItem<'a>>,
    more: bool,
}

#[derive(Serialize)]
struct ShownRevision {
    revision: Option<Revision>,
}

#[derive(Serialize)]
struct ShownMembers {
    members: BTreeSet<NodeId>,
}

#[derive(Serialize)]
struct ShownSession {
    session: SessionId,
}

impl<'a> ShownItem<'a> {
    fn new(key: Option<&'a str>, item: &Item) -> Self {
        Self { key, revision: item.revision, value: STANDARD.encode(&item.value) }
    }
}

fn json(status: u16, content: &impl Serialize) -> Response {
    let text = serde_json::to_string(content).expect("text and numbers have a JSON form");
    Response::new(status).body(text + "\n")
}

/// The answer to a client whose operation is done.
pub(crate) fn response(outcome: Outcome) -> Response {
    match outcome {
        Outcome::Value(Some(value)) => Response::new(200).body(value),
        Outcome::Value(None) | Outcome::Item(None) => Response::new(404).body("there is no such key\n"),
        Outcome::Done => Response::new(204),
        Outcome::Written(revision) => json(200, &ShownRevision { revision: Some(revision) }),
        Outcome::Unmet(revision) => json(412, &ShownRevision { revision }),
        Outcome::Members(members) => json(200, &ShownMembers { members: members.nodes }),
        Outcome::Opened(session) => json(201, &ShownSession { session }),
        Outcome::NoSession(session) => Response::new(410).body(format!(
            "there is no session {session} any more: this attempt did nothing, an earlier one may have happened; read what is there, and \
             begin a session by POST /sessions\n"
        )),
        Outcome::Late(serial) => Response::new(409).body(format!(
            "the session has a later write, {serial}: this attempt did nothing, an earlier one may have happened; give each write a larger \
             `serial`\n"
        )),
        Outcome::Item(Some(item)) => json(200, &ShownItem::new(None, &item)),
        Outcome::Page(Page { revision, items, has_more }) => {
            let items = items.iter().map(|(key, item)| ShownItem::new(Some(key), item)).collect();
            json(200, &ShownPage { revision, items, more: has_more })
        }
    }
}
