//! Pages for browsers: the page of `host explore` with all answers of its server, in one file that needs no network.
//!
//! It is readable without its script: the finding, the properties, and the list of all steps.
//!
//! Text of a plugin cannot become markup or code: texts are escaped where they are written, the recording is JSON without `<`, and the
//! page's policy allows this one script and this one style sheet, by their digests, and no request at all.
//!
//! | module | what it holds |
//! |---|---|
//! | `recorded` | the answers that the page has in place of a server |
//! | `places` | the states along a recording, as places of a session |
//! | `steps` | the list of the steps |

mod places;
mod recorded;
mod steps;

use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::draw::Context;
use crate::draw::parts::{title, verdict};
use crate::escape::xml;
use crate::page::shapes::About;
use crate::page::{self, SCRIPT, STYLE};
use crate::recording::Recording;
use crate::words::clipped;

/// The maximum size in bytes of a page: each of its parts has a share, and leaves out the rest.
pub const PAGE_BYTES_MAX: usize = 16 << 20;

/// The maximum length in letters of the finding.
const LETTERS_MAX: usize = 4_096;

/// A recording as a page.
pub(super) fn draw(recording: &Recording, context: Context<'_>) -> String {
    let title = xml(&title(recording));
    let (script, style) = (digest(SCRIPT), digest(STYLE));
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-{script}'; \
         style-src 'sha256-{style}'; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<link rel=\"icon\" href=\"data:,\">\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <div id=\"page\"><noscript>\n<h1>{title}</h1>\n"
    );
    let verdict = verdict(recording).map(|verdict| xml(&clipped(&verdict, LETTERS_MAX)));
    let verdict = verdict.unwrap_or_else(|| "no property is violated at the end".to_owned());
    let _ = writeln!(html, "<p>{verdict}</p>");
    html.push_str(&steps::properties(recording));
    html.push_str(&steps::list(recording, context));
    html.push_str(&steps::sibling(recording, context));
    html.push_str(&footer(recording, context));
    html.push_str("</noscript></div>\n");
    let recorded = recorded::json(recording, context);
    let _ = writeln!(html, "<script type=\"application/json\" id=\"recording\">{recorded}</script>");
    let _ = writeln!(html, "<script>{SCRIPT}</script>\n</body>\n</html>");
    html
}

/// The components and the command that replays the trace.
fn footer(recording: &Recording, context: Context<'_>) -> String {
    let mut html = "<dl>\n".to_owned();
    for About { name, value } in page::about(&recording.trace, context.replay) {
        let _ = writeln!(html, "<dt>{}</dt><dd><code>{}</code></dd>", xml(&name), xml(&value));
    }
    html.push_str("</dl>\n");
    html
}

/// SHA-256 in base64, in the form of a policy: RFC 4648, with the padding for a digest of 32 bytes.
fn digest(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digest = Sha256::digest(text.as_bytes());
    let letters = digest.chunks(3).flat_map(|chunk| {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        let letter = move |at: usize| LETTERS[(bits >> (18 - 6 * at)) as usize & 63];
        (0..4).map(move |at| if at <= chunk.len() { letter(at) } else { b'=' })
    });
    letters.map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// NIST's test vector for "abc", in base64.
    #[test]
    fn a_digest_is_that_of_the_standard() {
        assert_eq!(digest("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }

    /// The content of a script or style element is not escaped.
    #[test]
    fn script_and_style_end_where_their_elements_do() {
        for text in [SCRIPT, STYLE] {
            let lower = text.to_ascii_lowercase();
            for end in ["</", "<!--", "<script"] {
                assert!(!lower.contains(end), "an end of an element: {end}");
            }
        }
    }
}
