//! Texts and other rectangles of a drawing, by its own coordinates.

/// A text of a drawing.
#[derive(Clone, Debug)]
pub struct Text {
    /// Its classes.
    pub class: String,
    /// Its content.
    pub said: String,
    /// Its rectangle in pixels.
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Text {
    pub fn overlaps(&self, other: &Self) -> bool {
        self.left < other.right && other.left < self.right && self.top < other.bottom && other.top < self.bottom
    }
}

/// A value of an attribute.
pub fn attribute<'t>(tag: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split('"').next()
}

/// A number of an attribute.
pub fn number(tag: &str, name: &str) -> f64 {
    attribute(tag, name).and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no number {name} in {tag}"))
}

/// The texts of an SVG, as wide as their letters in a monospaced font.
pub fn texts(svg: &str) -> Vec<Text> {
    let drawn = svg.split("<text").skip(1).filter_map(|rest| rest.split_once('>'));
    let drawn = drawn.map(|(tag, rest)| {
        let tag = format!(" {}", tag.trim_start());
        let class = attribute(&tag, "class").unwrap_or_default().to_owned();
        let said = rest.split("</text>").next().unwrap_or_default();
        let said = [("&gt;", ">"), ("&lt;", "<"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&")]
            .iter()
            .fold(said.to_owned(), |said, (from, to)| said.replace(from, to));
        let has = |name: &str| class.split(' ').any(|one| one == name);
        // 0.61 of the font size, the width of DejaVu Sans Mono; Menlo, Consolas and Liberation Mono are narrower.
        let letter = if has("title") {
            7.9
        } else if has("name") {
            7.3
        } else if has("change") || has("event") {
            6.1
        } else {
            6.7
        };
        let width = letter * said.chars().count() as f64;
        let (x, y) = (number(&tag, "x"), number(&tag, "y"));
        let left = if has("name") || has("event") {
            x - width / 2.0
        } else if has("left") || has("number") {
            x - width
        } else {
            x
        };
        Text { class, said, left, top: y - 8.5, right: left + width, bottom: y + 2.5 }
    });
    drawn.collect()
}

/// The size of the drawing, from its view box.
pub fn size(svg: &str) -> (f64, f64) {
    let view = attribute(svg, "viewBox").expect("a drawing has a view box");
    let numbers: Vec<f64> = view.split(' ').map(|number| number.parse().expect("a number")).collect();
    (numbers[2], numbers[3])
}

/// Checks a drawing; returns the number of its texts.
pub fn check(svg: &str, which: &str) -> usize {
    let (texts, (width, height)) = (texts(svg), size(svg));
    for (index, one) in texts.iter().enumerate() {
        assert!(
            one.left >= 0.0 && one.right <= width && one.top >= 0.0 && one.bottom <= height,
            "{which}: {one:?} is not within {width} by {height}"
        );
        if let Some(other) = texts[index + 1..].iter().find(|other| one.overlaps(other)) {
            panic!("{which}: {one:?} is on {other:?}");
        }
    }
    texts.len()
}
