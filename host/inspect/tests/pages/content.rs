//! The contents of a page and of a picture: parts, foreign texts, sizes.

use std::sync::Arc;

use host_inspect::draw::{Context, Form, PAGE_BYTES_MAX, draw};
use host_inspect::escape::acts;
use host_inspect::explain;
use host_inspect::graph::arrows;
use host_inspect::recording::Recording;
use host_model::contract::NodeId;
use host_model::scenario::{NodeNames, Scenario};
use host_model::toys::{Toy, ToyTrigger};
use host_model::trace::{BreachClass, BrokenPromise, Finding, Hex, Sent, TraceEvent};
use serde_json::{Value, json};

use super::sample::{REPLAY, page, recording};
use super::walks;

/// Line breaks, escape sequences, C1 controls, letters that reorder or hide text, commands to runners of workflows, markup of all kinds.
pub const HOSTILE: &str = "\n::error::x\r##[error]x\u{1b}[2J\u{7f}\u{85}\u{9b}31m\u{202e}\u{2066}\u{2028}\u{feff}\u{e0041}\
    </title></style></script></svg><script>alert(1)</script><img src=x onerror=alert(1)>\"'`${1}<!--]]>&amp;&lt;<a href=\"https://x.invalid/\">";

/// The recorded data of a page, with the values of its pool in place.
pub fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"recording\">").expect("there is data");
    let mut data: Value = serde_json::from_str(rest.split_once("</script>").expect("it ends").0).expect("it is JSON");
    let pool = data["pool"].take();
    let fill = |value: &mut Value| {
        if let Some(number) = value.as_u64() {
            *value = pool[number as usize].clone();
        }
    };
    for state in data["states"].as_array_mut().expect("a list") {
        fill(&mut state["standings"]);
        state["flight"].as_array_mut().expect("a list").iter_mut().for_each(fill);
        state["nodes"].as_array_mut().expect("a list").iter_mut().for_each(|node| fill(&mut node["rows"]));
    }
    data
}

/// A page without its script and its style sheet, which are the same in all pages.
fn without_script(page: &str) -> String {
    page.replace(host_inspect::page::SCRIPT, "").replace(host_inspect::page::STYLE, "")
}

/// The recording with a foreign text wherever possible.
pub fn hostile() -> Recording {
    let mut recording = recording();
    let text = || HOSTILE.to_owned();
    let trace = &mut recording.trace;
    trace.plugin.name = text();
    trace.plugin.version = Some(text());
    trace.plugin.digest = Some(text());
    trace.scenario.parameters.insert(text(), text());
    if let TraceEvent::Local { name, .. } = &mut trace.steps[0].event {
        *name = text();
    }
    let message = Hex(json!({ HOSTILE: HOSTILE }).to_string().into_bytes());
    recording.steps[0].sent.push(Sent { to: 1, payload: message.clone() });
    recording.steps[0].sent.push(Sent { to: 2, payload: Hex(json!({ "kind": HOSTILE }).to_string().into_bytes()) });
    trace.steps[1].event = TraceEvent::Deliver { from: 0, payload: message };
    for observed in recording.init.iter_mut().chain(&mut recording.steps) {
        observed.log.push(text());
        observed.description = Some(json!({ HOSTILE: [HOSTILE, observed.state.is_some()], "__proto__": HOSTILE }));
    }
    recording.names = NodeNames::new((0..3).map(|node| Some(format!("{node}{HOSTILE}"))));
    for property in &mut recording.properties {
        property.name = text();
    }
    for (_, standing) in recording.courses.iter_mut().flat_map(|course| &mut course.standings) {
        if let host_model::trace::Standing::Owed(why) = standing {
            *why = host_inspect::words::on_one_line(HOSTILE);
        }
    }
    if let Some((_, Finding::Property { name, message, .. })) = recording.findings.first_mut() {
        (*name, *message) = (text(), text());
    }
    recording
}

#[test]
fn a_page_is_one_file_that_asks_for_nothing() {
    let page = page(&recording());
    assert!(page.starts_with("<!doctype html>\n") && page.ends_with("</html>\n"));
    assert!(page.contains("default-src 'none'; script-src 'sha256-") && page.contains("base-uri 'none'"));
    assert!(!page.contains("connect-src"), "what the script could ask for is refused");
    let own = without_script(&page);
    // Its only link is an empty icon, and no element or style could load anything.
    assert_eq!(own.matches("href=\"").count(), own.matches("href=\"data:,\"").count());
    for word in ["://", "src=", "url(", "@import", "<img", "<iframe", "innerHTML", "eval(", "fetch("] {
        assert!(!own.contains(word), "{word} in the page");
    }
    assert!(!page.contains("@import") && !page.contains("eval("));
    assert_eq!((own.matches("<script").count(), own.matches(" style=\"").count()), (2, 0));
}

/// The row of a field in the state of a node.
fn row<'v>(state: &'v Value, node: NodeId, name: &str) -> Option<&'v Value> {
    let rows = state["nodes"][node as usize]["rows"].as_array().expect("rows");
    rows.iter().find(|row| row["name"] == name)
}

#[test]
fn a_page_has_each_step_with_and_without_its_script() {
    let recording = recording();
    let page = page(&recording);
    let data = data(&page);
    let steps = recording.steps.len();
    assert_eq!(data["states"].as_array().map(Vec::len), Some(steps + 1));
    assert_eq!(data["session"]["line"], json!((0..=steps).collect::<Vec<_>>()));
    assert_eq!(data["session"]["place"], steps, "it opens at the end");
    for number in 1..=steps {
        let state = &data["states"][number];
        let step = &state["step"];
        assert_eq!(step["event"]["text"], recording.event(number));
        assert_eq!(step["lines"], json!(explain::lines(&recording, number)));
        assert_eq!((&step["place"], &step["parent"]), (&json!(number), &json!(number - 1)));
        let item = format!("<li value=\"{number}\">{}", host_inspect::escape::xml(&recording.event(number)));
        assert!(page.contains(&item), "step {number} is in the list");
        // A tree has a change exactly where the state has one, and only at the node of the step.
        let of_step = recording.trace.steps[number - 1].node;
        for node in 0..recording.nodes() {
            let before = recording.observed(node, recording.step_before(number, node));
            let after = if node == of_step { &recording.steps[number - 1] } else { before };
            let rows = state["nodes"][node as usize]["rows"].as_array().expect("rows");
            let is_changed = rows.iter().any(|row| row["mark"] != "same");
            assert_eq!(is_changed, before.description != after.description, "step {number}, node {node}");
        }
        let words = state["standings"].as_array().expect("a list").iter().map(|it| it["standing"].as_str());
        let expected = recording.courses.iter().map(|course| host_inspect::course::word(course.after(number)));
        let expected = expected.map(|word| if word == "not known" { "unknown" } else { word });
        assert!(words.eq(expected.map(Some)), "step {number}");
    }
    assert_eq!(row(&data["states"][2], 1, "state").expect("a field")["old"], "0");
    for words in [REPLAY, "0a0a0a", "served", "forbidden is violated"] {
        assert!(page.contains(&host_inspect::escape::xml(words)), "{words}");
    }
    let about = &data["session"]["about"];
    assert_eq!(about[1], json!({ "name": "replay", "value": REPLAY }));
    assert!(data["session"]["verdict"][0].as_str().is_some_and(|verdict| verdict.starts_with("forbidden is violated")));
    // Losses, repeated deliveries, and resets.
    let event = |number: usize| &data["states"][number]["step"]["event"];
    assert_eq!((&event(4)["kind"], &event(4)["received"][0]["lost"]), (&json!("lose"), &json!(true)));
    assert_eq!((&event(3)["received"][0]["sent"], &event(3)["received"][0]["lost"]), (&json!(1), &json!(false)));
    assert_eq!((&event(5)["kind"], &event(5)["fault"]), (&json!("fault"), &json!("reset")));
    let received: usize = (1..=steps).map(|number| event(number)["received"].as_array().map_or(0, Vec::len)).sum();
    assert_eq!(received, arrows(&recording).iter().filter(|arrow| arrow.end().is_some()).count());
}

/// The messages in flight after each step, computed by removing received and lost ones.
#[test]
fn a_page_has_what_is_in_flight() {
    let mut compared = 0;
    for seed in 0..40 {
        let toy = Arc::new(Toy::random(seed, 3));
        let recording = walks::executed(&toy, &walks::trace(&toy, seed));
        let data = data(&page(&recording));
        for step in 0..=recording.steps.len() {
            let flight = data["states"][step]["flight"].as_array().expect("a list");
            let said = |it: &Value| format!("{} -> {}: {}", it["from"], it["to"], it["text"].as_str().unwrap_or(""));
            let mut said: Vec<String> = flight.iter().map(said).collect();
            said.sort();
            assert_eq!(said, super::browser::in_flight(&recording, step), "seed {seed}, step {step}");
            compared += said.len();
        }
    }
    assert!(compared > 300, "{compared} messages test little");
}

/// The steps that change the view of the violated property have rings, as in the picture, and the field is named.
#[test]
fn a_page_has_the_rings_of_the_picture() {
    let (mut rings, mut fields) = (0, 0);
    for seed in 0..60 {
        let toy = Arc::new(Toy::random(seed, 3));
        let mut recording = walks::executed(&toy, &walks::trace(&toy, seed));
        super::sample::described(&mut recording);
        let session = &data(&page(&recording))["session"];
        let svg = draw(&recording, Form::Svg, Context::default());
        let marks = session["marks"].as_array().expect("a list");
        let ringed: Vec<&Value> =
            marks.iter().filter(|mark| mark["kind"] == "ring").map(|mark| &mark["place"]).collect();
        let expected =
            recording.views().into_iter().flat_map(|(_, history)| history.into_iter().map(|(since, _)| since));
        let mut expected: Vec<usize> = expected.filter(|since| *since > 0).collect();
        expected.sort_unstable();
        assert_eq!(json!(ringed), json!(expected), "seed {seed}");
        let events = svg.split("<g class=\"event\">").skip(1).filter_map(|rest| rest.split("</g>").next());
        let drawn = events.filter(|event| event.contains("<circle class=\"warn\"")).count();
        assert_eq!(drawn, expected.len(), "seed {seed}");
        rings += ringed.len();
        fields += session["reads"].as_array().map_or(0, Vec::len);
    }
    assert!(rings > 20 && fields > 5, "{rings} rings and {fields} fields test little");
}

/// Lifelines have names with numbers, events have names alone. A node without a name has its number.
#[test]
fn drawings_have_the_names_of_the_nodes() {
    let mut recording = recording();
    let long = "replica of the second shard in the west".to_owned();
    recording.names = NodeNames::new([Some("client".to_owned()), Some(long.clone()), None]);
    assert_eq!(recording.event(2), format!("{long} <- client: 07"));
    assert_eq!(recording.event(4), "node 2: a message from client is lost: 07");
    for form in Form::ALL {
        let drawing = draw(&recording, form, Context::default());
        for words in ["client (node 0)", "node 2"] {
            assert!(drawing.contains(words), "{words} in {drawing}");
        }
        assert!(!drawing.contains("node 0:") && !drawing.contains("node 0 "), "{}: {drawing}", form.name());
    }
    let svg = draw(&recording, Form::Svg, Context::default());
    assert!(svg.contains(">replica of the second sha\u{2026}</text>"), "{svg}");
    // The events of the page begin with these names.
    assert_eq!(data(&page(&recording))["session"]["nodes"], json!(["client", long, "node 2"]));
}

/// The finding of a promise: its loop, the critical step and the path that keeps it.
#[test]
fn a_page_shows_what_became_of_a_promise() {
    let mut recording = recording();
    let sibling = recording.clone();
    let promise = |class, loop_start, critical| {
        Finding::Promise(BrokenPromise {
            name: "served".to_owned(),
            node: None,
            class,
            message: "no client is served".to_owned(),
            fairness: Default::default(),
            timers: Default::default(),
            recovery: Default::default(),
            loop_start,
            critical,
            sibling: Vec::new(),
        })
    };
    recording.trace.finding = Some(promise(BreachClass::Dead, None, Some(6)));
    let context = Context { sibling: Some(&sibling), ..Context::default() };
    let page = draw(&recording, Form::Html, context);
    let recorded = data(&page);
    let marks = |recorded: &Value, kind: &str| -> Vec<(Value, String)> {
        let marks = recorded["session"]["marks"].as_array().expect("a list").iter();
        let marks = marks.filter(|mark| mark["kind"] == kind);
        marks.map(|mark| (mark["place"].clone(), mark["text"].as_str().unwrap_or_default().to_owned())).collect()
    };
    assert_eq!(marks(&recorded, "critical").iter().map(|(place, _)| place).collect::<Vec<_>>(), [&json!(6)]);
    let (before, item) = page.split_once("<li value=\"6\">").expect("the step is in the list");
    assert!(item.contains("<strong>the critical step</strong>") && !before.contains("the critical step</strong>"));
    let (_, way) = page.split_once("<h2>in place of step 6").expect("the way is there");
    assert!(way.starts_with(", this one keeps the promise</h2>\n<ol start=\"6\">\n<li>node 0"));
    // The other continuation is a branch that begins before the critical step.
    let sibling = &recorded["session"]["sibling"];
    assert_eq!(sibling["line"], json!([0, 1, 2, 3, 4, 5, 7]));
    assert_eq!(sibling["text"], "in place of step 6, this one keeps the promise");
    let other = &recorded["states"][7]["step"];
    assert_eq!((&other["place"], &other["parent"], &other["depth"]), (&json!(7), &json!(5), &json!(6)));
    recording.trace.finding = Some(promise(BreachClass::Lasso, Some(2), None));
    let page = draw(&recording, Form::Html, Context::default());
    let recorded = data(&page);
    assert_eq!(marks(&recorded, "before"), [(json!(3), "what follows happens again and again".to_owned())]);
    assert_eq!(marks(&recorded, "after"), [(json!(6), "and again from step 3 on, for ever".to_owned())]);
    let (before, after) = page.split_once("what follows happens again and again").expect("the loop begins");
    assert!(
        before.contains("<li value=\"2\">")
            && after.contains("<li value=\"3\">")
            && !before.contains("<li value=\"3\">")
    );
    assert!(after.contains("and again from step 3 on, for ever"));
    assert!(!page.contains("keeps the promise") && !page.contains("the critical step</strong>"));
    assert_eq!(recorded["session"]["sibling"], Value::Null);
    let prefix = draw(&recording, Form::Html, Context { prefix: 2, ..Context::default() });
    assert_eq!(marks(&data(&prefix), "after")[0], (json!(2), "end of the prefix".to_owned()));
}

fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

#[test]
fn texts_of_others_are_shown_and_not_obeyed() {
    let recording = hostile();
    let replay = format!("host replay '{}'", host_inspect::words::on_one_line(HOSTILE));
    let context = Context { replay: Some(&replay), sibling: Some(&recording), ..Context::default() };
    for form in [Form::Html, Form::Svg] {
        let drawing = draw(&recording, form, context);
        assert!(!drawing.chars().any(|letter| acts(letter) && letter != '\n'), "{form:?} acts");
        assert!(drawing.lines().all(|line| !line.trim_start().starts_with("::") && !line.contains("##[")));
        for word in ["<script>alert", "<img", "<a href=\"https", "onerror=alert(1)>"] {
            assert!(!without_script(&drawing).contains(word), "{word} in {form:?}");
        }
    }
    let page = draw(&recording, Form::Html, context);
    let own = without_script(&page);
    for (element, count) in [("<script", 2), ("</script", 2), ("<style", 1), ("</style", 1), ("<svg", 0), ("</svg", 0)]
    {
        assert_eq!(own.matches(element).count(), count, "{element}");
    }
    // The elements of the page without its script are those of a list.
    let elements = own.split('<').skip(1).filter_map(|rest| rest.split(|it: char| !it.is_ascii_alphanumeric()).next());
    let mut elements: Vec<&str> = elements.filter(|element| !element.is_empty()).collect();
    elements.sort_unstable();
    elements.dedup();
    let expected = [
        "body", "code", "dd", "div", "dl", "dt", "em", "h1", "h2", "head", "html", "li", "link", "meta", "noscript",
        "ol", "p", "script", "strong", "style", "title", "ul",
    ];
    assert!(elements.iter().all(|element| expected.contains(element)), "{elements:?}");
    let mut found = Vec::new();
    texts(&data(&page), &mut found);
    assert!(found.iter().filter(|text| text.contains("alert(1)")).count() > 5);
    let acting = found.iter().find(|text| text.chars().any(acts));
    assert_eq!(acting, None, "what the script shows is shown as it is");
}

#[test]
fn pages_of_huge_states_stay_short() {
    let steps = 120;
    let toy = Arc::new(Toy::new(2).rule(0, 0, ToyTrigger::Local(1), 0, &[(1, 7)]));
    let mut trace = recording().trace;
    (trace.scenario, trace.finding) = (Scenario::new(2), None);
    trace.steps = vec![trace.steps[0].clone(); steps];
    for step in &mut trace.steps {
        (step.sent, step.state) = (None, None);
    }
    let mut recording = walks::executed(&toy, &trace);
    for (number, observed) in (0..).zip(&mut recording.steps) {
        let fields = (0..800).map(|field| (format!("{field}-{HOSTILE}"), json!(format!("{number}{}", "<".repeat(60)))));
        observed.description = Some(Value::Object(fields.collect()));
        observed.state = Some(format!("{number}").into_bytes());
        observed.log = vec![format!("{number}{}", "&".repeat(60_000)); 4];
    }
    let page = page(&recording);
    assert!(page.len() < PAGE_BYTES_MAX, "{} bytes", page.len());
    assert!(page.contains("the rest is left out"), "the page notes what is missing");
    let data = data(&page);
    let states = data["states"].as_array().expect("a list").len();
    assert!(states > 1 && states < steps, "{states} states are there");
    assert_eq!(
        (&data["session"]["place"], data["session"]["line"].as_array().map(Vec::len)),
        (&json!(states - 1), Some(states))
    );
    let left_out = format!("steps {states} to {steps} are left out: the page would be too large");
    let said = data["session"]["about"].as_array().expect("a list").iter().any(|row| row["value"] == left_out);
    assert!(said, "{}", data["session"]["about"]);
}

/// The picture marks lost and repeated messages, interrupts the lifeline of a node that restarts, and names the finding and the replay.
#[test]
fn a_picture_says_what_happens() {
    let recording = recording();
    let context = Context { replay: Some(REPLAY), ..Context::default() };
    let svg = draw(&recording, Form::Svg, context);
    let texts: Vec<&str> = svg
        .split("<text")
        .skip(1)
        .filter_map(|rest| rest.split_once('>'))
        .map(|(_, rest)| rest.split("</text>").next().unwrap_or_default())
        .collect();
    for (text, count) in [("again", 1), ("07 lost", 1), ("08 to 2", 1), ("delivered again", 1)] {
        assert_eq!(texts.iter().filter(|it| **it == text).count(), count, "{text} in {texts:?}");
    }
    assert!(
        texts.contains(&"Running.state: 1 -&gt; 2") || texts.iter().any(|text| text.contains("1 -&gt; 2")),
        "{texts:?}"
    );
    let said = texts.join(" ");
    for words in ["interrupted by a reset or a break", "changes what the property reads", "lost, or never delivered"] {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert!(
        said.contains(&"0a".repeat(32)) && said.contains(&host_inspect::escape::xml(&format!("replay with: {REPLAY}")))
    );
    let pieces = |node: NodeId| {
        let (_, column) = svg.split_once(&format!(">node {node}</text>")).expect("the node has a column");
        column.split("</g>").next().map_or(0, |column| column.matches("<line class=\"life\"").count())
    };
    assert_eq!([pieces(0), pieces(1), pieces(2)], [1, 2, 1], "node 1 restarts once");
}

/// The rectangles of texts in a picture, as wide as their letters in a monospaced font.
fn boxes(svg: &str) -> Vec<[f64; 4]> {
    let number = |tag: &str, name: &str| -> f64 {
        let (_, rest) = tag.split_once(&format!(" {name}=\"")).expect("the place of a text");
        rest.split('"').next().and_then(|number| number.parse().ok()).expect("a number")
    };
    let texts = svg.split("<text class=\"halo").skip(1).filter_map(|rest| rest.split_once('>'));
    let texts = texts.map(|(tag, rest)| {
        let text = rest.split("</text>").next().unwrap_or_default();
        let letters = text.replace("&gt;", ">").replace("&lt;", "<").replace("&quot;", "\"").chars().count() as f64;
        let width = letters * if tag.contains("change") { 6.1 } else { 6.7 };
        let (x, y) = (number(tag, "x"), number(tag, "y"));
        let left = if tag.starts_with(" left") { x - width } else { x };
        [left, y - 9.0, left + width, y + 2.0]
    });
    texts.collect()
}

/// Lines of messages in a picture.
fn ways(svg: &str) -> Vec<[f64; 4]> {
    let ways =
        svg.split("<path class=\"").skip(1).filter(|rest| rest.starts_with("message") || rest.starts_with("lost"));
    let ways = ways.filter_map(|rest| rest.split_once(" d=\"M")).filter_map(|(_, rest)| rest.split('"').next());
    let numbers = ways.map(|way| -> Vec<f64> {
        way.split([' ', 'L']).filter(|word| !word.is_empty()).filter_map(|word| word.parse().ok()).collect()
    });
    let corners = |numbers: Vec<f64>| {
        let corners: Vec<[f64; 2]> = numbers.chunks(2).filter_map(|pair| pair.try_into().ok()).collect();
        corners.windows(2).map(|ends| [ends[0][0], ends[0][1], ends[1][0], ends[1][1]]).collect::<Vec<_>>()
    };
    numbers.flat_map(corners).collect()
}

/// Texts never overlap each other, and cover no arrow if there is room. These systems send a message in nearly every step, which
/// leaves no room for one text in a dozen.
#[test]
fn texts_avoid_arrows() {
    let (mut texts, mut on_texts, mut on_ways) = (0, 0, 0);
    for seed in 0..60 {
        let toy = Arc::new(Toy::random(seed, 3));
        let mut recording = walks::executed(&toy, &walks::trace(&toy, seed));
        super::sample::described(&mut recording);
        let svg = draw(&recording, Form::Svg, Context::default());
        let (boxes, ways) = (boxes(&svg), ways(&svg));
        assert!(!ways.is_empty() || arrows(&recording).is_empty());
        for (index, one) in boxes.iter().enumerate() {
            let meets =
                |other: &&[f64; 4]| one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
            on_texts += usize::from(boxes[index + 1..].iter().any(|other| meets(&other)));
            // In small steps along the line.
            let is_inside = |way: &&[f64; 4]| {
                (0..=200).map(|part| f64::from(part) / 200.0).any(|part| {
                    let (x, y) = (way[0] + (way[2] - way[0]) * part, way[1] + (way[3] - way[1]) * part);
                    one[0] < x && x < one[2] && one[1] < y && y < one[3]
                })
            };
            on_ways += usize::from(ways.iter().any(|way| is_inside(&way)));
            texts += 1;
        }
    }
    assert!(texts > 500, "{texts} texts test little");
    assert!(on_texts == 0 && on_ways * 12 <= texts, "{on_texts} of {texts} are on texts, {on_ways} on arrows");
}
