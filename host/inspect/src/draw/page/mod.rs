//! Pages for browsers: one file without a server and without a network.
//!
//! The page can be read without its script: the diagram, the properties over time, and the list of all steps. The script shows one
//! step: the state of a node before and after it, the messages in flight, and how the properties stand.
//!
//! What a plugin says cannot become markup or code: texts are escaped where they are written, the data is JSON without `<`, and the
//! page's policy allows this one script and these two style sheets, by their digests, and no request at all.
//!
//! | module | what it holds |
//! |---|---|
//! | `data` | what the script knows |
//! | `steps` | the list of the steps |
//! | `strips` | the properties over time |

mod data;
mod steps;
mod strips;

use std::fmt::Write;

use crate::draw::kinds::Kinds;
use crate::draw::parts::{components, title, verdict};
use crate::draw::{Context, svg};
use crate::escape::xml;
use crate::graph::arrows;
use crate::recording::Recording;
use crate::words::clipped;

use strips::Strips;

/// Bytes of a page: of its parts each has a share, and leaves out what is more.
pub const PAGE_BYTES_MAX: usize = BYTES_MAX * 2;

/// Bytes of which the parts have their shares; what is escaped takes more.
const BYTES_MAX: usize = 8 << 20;

/// Letters of the command, the components and the finding.
const LETTERS_MAX: usize = 4_096;

/// Components that are named.
const COMPONENTS_MAX: usize = 64;

const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

/// SHA-256 of the script and of the two style sheets in base 64, for the policy of the page. A test compares them.
const SCRIPT_DIGEST: &str = "w/C1ft0P4hRaGBpAVdZ2JDZcaQ2B9SKpi/S1nR9GoIk=";
const STYLE_DIGEST: &str = "2ZSDovftwx8MMbwlxBSNLx0Ii4aduADwSMkzjyBp6XU=";
const DRAWING_STYLE_DIGEST: &str = "GBzvlcwUOE4cJkAjYqGvZpSvOnKZhtq86Nfxe1Lo3z8=";

const CONTROLS: &str = "<nav id=\"controls\" aria-label=\"steps\" hidden>\
<button id=\"first\" title=\"g\">start</button><button id=\"back\" title=\"k\">back</button><output id=\"place\"></output>\
<button id=\"next\" title=\"j\">next</button><button id=\"end\" title=\"G\">end</button>\
<label>state of <select id=\"node\"></select></label>\
<label><input type=\"checkbox\" id=\"changed\"> changes only</label></nav>\n";

const PANEL: &str = "<aside id=\"panel\" hidden><div aria-live=\"polite\"><h2 id=\"event\"></h2><p id=\"badges\"></p>\
<ul id=\"effects\"></ul></div><h3 id=\"whose\"></h3><div id=\"tree\"></div><h3 id=\"flying\"></h3><ul id=\"flight\"></ul>\
<h3>Kinds of messages</h3><div id=\"kinds\"></div></aside>\n";

const LEGEND: &str = "<section class=\"text\"><h2>Legend</h2><dl>\
<dt>square, dot, diamond</dt><dd>a local event, a message received, a fault</dd>\
<dt>red ring</dt><dd>the step changes what the violated property reads; the change beside it is the one that comes along with that</dd>\
<dt>dashed line with a cross</dt><dd>a message that is lost, or never delivered</dd>\
<dt>dashed arrow, <em>again</em></dt><dd>a message that is delivered again</dd>\
<dt>gap in a lifeline</dt><dd>the node begins anew, or a connection breaks; a cross ends the lifeline of a node that crashes or is stuck</dd>\
<dt>strips</dt><dd>how each property stands after each step: holds, violated, owed (it has to hold again and does not yet), reached, not reached, not known</dd>\
</dl></section>\n";

const KEYS: &str = "<section class=\"text\" id=\"keys\" hidden><h2>Keys</h2><dl>\
<dt><kbd>j</kbd> <kbd>k</kbd>, arrows</dt><dd>next and last step</dd>\
<dt><kbd>g</kbd> <kbd>G</kbd></dt><dd>start and end</dd>\
<dt><kbd>n</kbd> <kbd>p</kbd> <kbd>f</kbd></dt><dd>next and last node, the node of the step</dd>\
<dt><kbd>c</kbd></dt><dd>changes only</dd>\
<dt><kbd>h</kbd> <kbd>H</kbd></dt><dd>hide the kind of message of the step, show all kinds</dd>\
</dl></section>\n";

/// A recording as a page.
pub(super) fn draw(recording: &Recording, context: Context<'_>) -> String {
    let arrows = arrows(recording);
    let kinds = Kinds::new(recording, &arrows);
    let strips = Strips::new(recording);
    let title = xml(&title(recording));
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-{SCRIPT_DIGEST}'; \
         style-src 'sha256-{STYLE_DIGEST}' 'sha256-{DRAWING_STYLE_DIGEST}'; base-uri 'none'; form-action 'none'; \
         require-trusted-types-for 'script'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<header><h1>{title}</h1>\n"
    );
    match verdict(recording) {
        Some(verdict) => {
            let _ = writeln!(html, "<p class=\"verdict\">{}</p>", xml(&clipped(&verdict, LETTERS_MAX)));
        }
        None => html.push_str("<p>no property is violated at the end</p>\n"),
    }
    html.push_str("</header>\n");
    html.push_str(CONTROLS);
    let _ = writeln!(
        html,
        "<section id=\"properties\" aria-label=\"properties over time\">\n{}</section>",
        strips.html(recording.steps.len())
    );
    let drawing = svg::embedded(recording, &arrows, context, &kinds, BYTES_MAX / 4);
    let _ = writeln!(html, "<main>\n<div id=\"drawing\" tabindex=\"0\">{drawing}</div>\n{PANEL}</main>");
    let _ = writeln!(
        html,
        "<section class=\"text\" id=\"list\"><h2>Steps</h2>\n{}</section>",
        steps::list(recording, &kinds, context)
    );
    html.push_str(&steps::sibling(recording, context));
    html.push_str(LEGEND);
    html.push_str(KEYS);
    html.push_str(&footer(recording, context));
    let data = data::json(recording, &arrows, &kinds, &strips, context);
    let _ = writeln!(html, "<script type=\"application/json\" id=\"data\">{data}</script>");
    let _ = writeln!(html, "<script>{SCRIPT}</script>\n</body>\n</html>");
    html
}

/// The component and the command that replays the trace.
fn footer(recording: &Recording, context: Context<'_>) -> String {
    let mut html = "<footer><dl>\n".to_owned();
    let components = components(recording);
    for component in components.iter().take(COMPONENTS_MAX) {
        let _ = writeln!(html, "<dt>component</dt><dd><code>{}</code></dd>", xml(component));
    }
    if components.len() > COMPONENTS_MAX {
        let _ = writeln!(html, "<dt>components</dt><dd>and {} more</dd>", components.len() - COMPONENTS_MAX);
    }
    if let Some(replay) = context.replay {
        let replay = xml(&clipped(replay, LETTERS_MAX));
        let _ = writeln!(html, "<dt>replay</dt><dd><code>{replay}</code></dd>");
    }
    html.push_str("</dl></footer>\n");
    html
}

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    /// RFC 4648, with the padding that a digest of 32 bytes needs.
    fn base64(digest: &[u8]) -> String {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let letters = digest.chunks(3).flat_map(|chunk| {
            let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
            let letter = move |at: usize| LETTERS[(bits >> (18 - 6 * at)) as usize & 63];
            (0..4).map(move |at| if at <= chunk.len() { letter(at) } else { b'=' })
        });
        letters.map(char::from).collect()
    }

    #[test]
    fn the_policy_has_the_digests_of_script_and_styles() {
        let digest = |text: &str| base64(&Sha256::digest(text.as_bytes()));
        assert_eq!(digest(SCRIPT), SCRIPT_DIGEST);
        assert_eq!(digest(STYLE), STYLE_DIGEST);
        assert_eq!(digest(svg::STYLE), DRAWING_STYLE_DIGEST);
    }

    /// In the element of a script or a style nothing is escaped.
    #[test]
    fn script_and_styles_end_where_their_elements_do() {
        for text in [SCRIPT, STYLE, svg::STYLE] {
            assert!(!text.contains("</") && !text.contains("<!--"), "an end of an element in {text}");
        }
    }
}
