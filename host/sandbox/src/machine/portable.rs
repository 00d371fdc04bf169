//! Local states as bytes that another process can import, on any processor and with any version of wasmtime.
//!
//! A snapshot belongs to its process: it can be a difference from the reference image, which is the first state that this
//! process has captured. An exported state is a difference from the pristine image, which is a function of the component and
//! of its rewriting. All integers are little-endian:
//!
//! | bytes | content |
//! |---|---|
//! | 8 | `hoststat` |
//! | 4 | version of this encoding |
//! | 4 | version of the [rewriting](REWRITING) |
//! | 32 | blake3 hash of the component |
//! | 32 | blake3 hash of the result of `serialize` in this state |
//! | 32 | blake3 hash of the parameters of the node |
//! | 4 | the node |
//! | 4 | nodes of the cluster |
//! | 4 | number of data memories |
//! | 8 each | size of each data memory in bytes |
//! | 4 | length of the durable map, only if the component imports one |
//! | that | the entries of the durable map, see [`DurableMap::to_bytes`] |
//! | the rest | entries, ascending by memory and granule: 8 bytes for [`Entry`], then its lines |
//! | 32 | blake3 hash of all preceding bytes |
//!
//! The last hash detects accidents. Forged bytes are another state of a guest, which can do no more harm than
//! its handlers can; the bytes are checked before anything is allocated or written.

use blake3::Hash;
use host_model::contract::{DurableMap, Snapshot, StateOwner};

use crate::rewrite::{CELLS_START, GRANULE, MemoryRole, REWRITING};
use crate::run::instance::MEMORY_BYTES_MAX;
use crate::run::plugin_parts::PluginParts;
use crate::state::lines::{Entry, LINE, split_first};
use crate::state::snapshot::HEADER;

const MAGIC: &[u8; 8] = b"hoststat";

/// Incremented with every change of the table above.
const ENCODING: u32 = 2;

const HASH: usize = blake3::OUT_LEN;

/// Bytes of a page of WebAssembly.
const PAGE: usize = 1 << 16;

/// A snapshot of this owner with the pristine image as base, as bytes; `encoding` is the hash of its result of `serialize`.
pub(crate) fn write(plugin: &PluginParts, state: &Snapshot, owner: StateOwner<'_>, encoding: &Hash) -> Vec<u8> {
    let memories = plugin.pristine_sizes().len();
    let (header, rest) = state.words().split_at(HEADER);
    let (sizes, mut body) = rest.split_at(memories);
    let mut bytes = MAGIC.to_vec();
    bytes.extend([ENCODING, REWRITING].into_iter().flat_map(u32::to_le_bytes));
    bytes.extend_from_slice(plugin.digest.as_bytes());
    bytes.extend_from_slice(encoding.as_bytes());
    bytes.extend_from_slice(blake3::hash(owner.config.as_bytes()).as_bytes());
    bytes.extend([owner.node, header[1] as u32, memories as u32].into_iter().flat_map(u32::to_le_bytes));
    bytes.extend(sizes.iter().flat_map(|size| size.to_le_bytes()));
    if plugin.stores {
        let map = state.map().map(DurableMap::to_bytes).unwrap_or_default();
        bytes.extend((map.len() as u32).to_le_bytes());
        bytes.extend(map);
    }
    while let Some((entry, lines, rest)) = split_first(body) {
        bytes.extend(entry.pack().to_le_bytes());
        // The words of a line are its bytes in memory.
        bytes.extend(lines.iter().flatten().flat_map(|word| word.to_ne_bytes()));
        body = rest;
    }
    bytes.extend_from_slice(blake3::hash(&bytes).as_bytes());
    bytes
}

/// The snapshot in exported bytes, and the hash that its result of `serialize` must have; or a lower-case phrase that says why it is no
/// state of the plugin and of this owner.
pub(crate) fn read(plugin: &PluginParts, bytes: &[u8], owner: StateOwner<'_>) -> Result<(Snapshot, Hash), String> {
    let mut input = Input(bytes);
    if input.take() != Some(MAGIC) {
        return Err("these bytes are no exported state".to_owned());
    }
    let version = input.number().ok_or_else(too_short)?;
    if version != ENCODING {
        return Err(format!("it is an exported state of version {version}, and this build reads version {ENCODING}"));
    }
    let (content, checksum) = bytes.split_last_chunk::<HASH>().ok_or_else(too_short)?;
    if blake3::hash(content) != Hash::from_bytes(*checksum) {
        return Err("the exported state is damaged: its checksum is another one".to_owned());
    }
    input.0 = input.0.get(..input.0.len() - HASH).ok_or_else(too_short)?;
    let rewriting = input.number().ok_or_else(too_short)?;
    if rewriting != REWRITING {
        let why = "memory may have another layout there";
        return Err(format!("it was captured after a rewriting of version {rewriting}, not {REWRITING}: {why}"));
    }
    let digest = Hash::from_bytes(*input.take().ok_or_else(too_short)?);
    if digest != plugin.digest {
        return Err(format!("it is a state of the component blake3:{digest}, not of blake3:{}", plugin.digest));
    }
    let encoding = Hash::from_bytes(*input.take().ok_or_else(too_short)?);
    let parameters = Hash::from_bytes(*input.take().ok_or_else(too_short)?);
    let (node, nodes) = input.number().zip(input.number()).ok_or_else(too_short)?;
    if nodes != owner.nodes || nodes == 0 {
        return Err(format!("it is a state in a cluster of {nodes} nodes, and this one has {}", owner.nodes));
    }
    if node != owner.node {
        return Err(format!("it is a state of node {node}"));
    }
    if parameters != blake3::hash(owner.config.as_bytes()) {
        return Err("it was exported with other parameters".to_owned());
    }
    let mut words = vec![plugin.id, nodes.into()];
    read_sizes(plugin, &mut input, &mut words)?;
    let map = if plugin.stores { Some(read_map(plugin, &mut input)?) } else { None };
    let ranges = ranges(plugin, &words[HEADER..]);
    read_entries(&ranges, input, &mut words)?;
    let snapshot = Snapshot::new(&words);
    let snapshot = match map {
        Some(map) => snapshot.with_map(&map, &DurableMap::default()),
        None => snapshot,
    };
    Ok((snapshot, encoding))
}

fn too_short() -> String {
    "the exported state ends too early".to_owned()
}

/// The bytes still to be read.
struct Input<'b>(&'b [u8]);

impl<'b> Input<'b> {
    fn take<const N: usize>(&mut self) -> Option<&'b [u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        self.take().map(|bytes| u32::from_le_bytes(*bytes))
    }

    fn word(&mut self) -> Option<u64> {
        self.take().map(|bytes| u64::from_le_bytes(*bytes))
    }
}

/// The sizes of the memories, which an instance can have.
fn read_sizes(plugin: &PluginParts, input: &mut Input<'_>, words: &mut Vec<u64>) -> Result<(), String> {
    let pristine = plugin.pristine_sizes();
    let count = input.number().ok_or_else(too_short)?;
    if count as usize != pristine.len() {
        return Err(format!("it has {count} memories, and the component has {}", pristine.len()));
    }
    let mut room = plugin.sandbox.config.limits.memory_bytes.min(MEMORY_BYTES_MAX) as u64;
    for (memory, least) in pristine.iter().enumerate() {
        let size = input.word().ok_or_else(too_short)?;
        if size < *least as u64 || !size.is_multiple_of(PAGE as u64) {
            return Err(format!("its memory {memory} has {size} bytes, which it can never have"));
        }
        room = room.checked_sub(size).ok_or("its memories are larger than the limit `memory` allows")?;
        words.push(size);
    }
    Ok(())
}

/// The durable map, which a node can have.
fn read_map(plugin: &PluginParts, input: &mut Input<'_>) -> Result<DurableMap, String> {
    let length = input.number().ok_or_else(too_short)?;
    let (bytes, rest) = input.0.split_at_checked(length as usize).ok_or_else(too_short)?;
    input.0 = rest;
    let map = DurableMap::from_bytes(bytes).ok_or("its durable map is none")?;
    let limits = &plugin.sandbox.config.limits;
    let within = map.iter().try_for_each(|(key, value)| limits.check_entry(key.len(), value.len()));
    within.and_then(|()| limits.check_map(map.len(), map.content_bytes())).map_err(|fault| fault.message)?;
    Ok(map)
}

/// For each data memory and then each cells memory, the granules that can be kept.
fn ranges(plugin: &PluginParts, sizes: &[u64]) -> Vec<std::ops::Range<u64>> {
    let granule = GRANULE as u64;
    let data = sizes.iter().map(|size| 0..size / granule);
    let cells = plugin.plan.iter().filter_map(|memory| match memory.role {
        MemoryRole::Cells { end } => Some(CELLS_START / granule..end.div_ceil(granule)),
        MemoryRole::Data(_) | MemoryRole::Marks => None,
    });
    data.chain(cells).collect()
}

/// The entries up to the end; each lies in a memory and behind the one before.
fn read_entries(ranges: &[std::ops::Range<u64>], mut input: Input<'_>, words: &mut Vec<u64>) -> Result<(), String> {
    let mut last = None;
    while !input.0.is_empty() {
        let word = input.word().ok_or_else(too_short)?;
        let entry = Entry::unpack(word);
        let place = (entry.memory, entry.granule);
        let exists = ranges.get(usize::from(entry.memory)).is_some_and(|range| range.contains(&entry.granule.into()));
        if entry.pack() != word || entry.mask == 0 || !exists || last.is_some_and(|last| place <= last) {
            return Err("the exported state has an entry where none can be".to_owned());
        }
        last = Some(place);
        words.push(word);
        for _ in 0..entry.mask.count_ones() as usize * (LINE / 8) {
            words.push(u64::from_ne_bytes(*input.take().ok_or_else(too_short)?));
        }
    }
    Ok(())
}
