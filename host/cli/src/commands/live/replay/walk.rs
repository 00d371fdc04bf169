//! The segments of a node, read one after the other.

use std::collections::{BTreeMap, btree_map};
use std::path::{Path, PathBuf};

use host_live::recording::{Break, Entry, Head, Next, SEGMENT_LONGEST, Segment, Sequence, Wrong};
use host_session::base::text::on_one_line;
use host_session::base::{Failure, files};

/// A part of the segments of a node.
pub(super) enum Part {
    /// The head of a segment.
    Head(Box<Head>),
    /// An entry.
    Entry(Entry),
    /// The end of a segment with an entry that was not written whole: its place, and its bytes so far.
    Torn(usize, usize),
}

/// Walks through the segments of a node. Each is read once, and one is in memory at a time.
pub(super) struct Walk {
    rest: btree_map::IntoIter<u64, PathBuf>,
    sequence: Sequence,
    /// The present segment, if it has a head.
    segment: Option<Segment<Vec<u8>>>,
    path: PathBuf,
}

impl Walk {
    pub(super) fn new(segments: BTreeMap<u64, PathBuf>) -> Self {
        Self { rest: segments.into_iter(), sequence: Sequence::default(), segment: None, path: PathBuf::new() }
    }

    /// The present segment.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The next part; none at the end.
    pub(super) fn next(&mut self) -> Result<Option<Part>, Failure> {
        while let Some(segment) = &mut self.segment {
            let chain = segment.chain();
            match segment.read().map_err(|error| wrong(&self.path, error))? {
                Next::Entry(entry) => return Ok(Some(Part::Entry(entry))),
                Next::End => {
                    self.sequence.end(chain);
                    self.segment = None;
                }
                Next::Torn { at, bytes } => {
                    self.segment = None;
                    return Ok(Some(Part::Torn(at, bytes)));
                }
            }
        }
        let Some((number, path)) = self.rest.next() else { return Ok(None) };
        self.path = path;
        let broken = |broken: Break| {
            Failure::configuration(format_args!("{}: {broken}", shown(&self.path)))
                .help("a recording replays whole; or name a single segment of it")
        };
        let read = files::read_bounded(&self.path, SEGMENT_LONGEST);
        let bytes =
            read.map_err(|error| Failure::system(format_args!("cannot read {}: {error}", shown(&self.path))))?;
        let length = bytes.len();
        let Some((segment, head)) = Segment::open(bytes).map_err(|error| wrong(&self.path, error))? else {
            self.sequence.skip(number).map_err(broken)?;
            return Ok(Some(Part::Torn(0, length)));
        };
        self.sequence.begin(number, &head).map_err(broken)?;
        self.segment = Some(segment);
        Ok(Some(Part::Head(Box::new(head))))
    }
}

fn wrong(path: &Path, wrong: Wrong) -> Failure {
    let name = shown(path);
    match wrong {
        Wrong::Foreign => Failure::configuration(format_args!("{name} is no segment of a recording")),
        Wrong::Damaged(at) => Failure::configuration(format_args!("{name} is damaged at byte {at}")).help(
            "restore the file from a copy; without it, earlier segments replay: move this one and those behind it away",
        ),
    }
}

/// A path in an error.
pub(super) fn shown(path: &Path) -> String {
    on_one_line(&path.display().to_string())
}
