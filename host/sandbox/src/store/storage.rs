//! The functions of the guest on the durable map of its node, and on when it is durable.

use host_model::contract::{Fault, FaultKind, NodeMap};
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, LinkerInstance, WasmList};

use crate::contract::abi::{self, EntryOut, OrderIn};
use crate::contract::limits::{GuestLimits, within};
use crate::contract::table;
use crate::store::context::{Context, Phase, burn};

/// The cost of a call in addition to a unit per byte.
const READ_FUEL: u64 = 500;

/// The cost of a write in addition to a unit per byte: two hashes, and a path of the tree.
const WRITE_FUEL: u64 = 2_000;

impl Context {
    /// The map, for a function that reads it.
    fn readable(&mut self, function: &str) -> wasmtime::Result<&NodeMap> {
        let place = match self.phase() {
            Phase::Handler => None,
            Phase::Start => Some("while it starts".to_owned()),
            Phase::Reading(reader) if table::works_before_init(reader) => Some(format!("in `{reader}`")),
            Phase::Reading(_) => None,
        };
        let place = place.or_else(|| self.storage.is_none().then(|| "before `init`".to_owned()));
        let result = place.map_or(Ok(()), |place| {
            let message = format!("calls `{function}` {place}, where there is no node whose map it could read");
            Err(Fault::new(FaultKind::Malformed, message))
        });
        self.refuse(result)?;
        Ok(self.storage.get_or_insert_default())
    }

    /// The map, for a function that writes it.
    fn writable(&mut self, function: &str) -> wasmtime::Result<&mut NodeMap> {
        let place = match self.phase() {
            Phase::Handler => None,
            Phase::Start => Some("while it starts".to_owned()),
            Phase::Reading(reader) => Some(format!("in `{reader}`")),
        };
        let result = place.map_or(Ok(()), |place| {
            let message = format!("calls `{function}` {place}; only handlers may");
            Err(Fault::new(FaultKind::Malformed, message))
        });
        self.refuse(result)?;
        Ok(self.storage.get_or_insert_default())
    }

    fn put(&mut self, key: &[u8], value: &[u8]) -> wasmtime::Result<()> {
        let storage = self.writable("storage.put")?;
        storage.put(key, value);
        let (entries, bytes) = (storage.map().len(), storage.map().content_bytes());
        let result = self.limits().check_map(entries, bytes);
        self.refuse(result)
    }
}

impl GuestLimits {
    /// An entry is within the limits.
    pub(crate) fn check_entry(&self, key: usize, value: usize) -> Result<(), Fault> {
        within(key, self.storage_key_bytes, "storage-key", || {
            format!("calls `storage.put` with a key of {key} bytes")
        })?;
        within(value, self.storage_value_bytes, "storage-value", || {
            format!("calls `storage.put` with a value of {value} bytes")
        })
    }

    /// A map is within the limits.
    pub(crate) fn check_map(&self, entries: usize, bytes: u64) -> Result<(), Fault> {
        within(entries, self.storage_entries, "storage-entries", || format!("puts {entries} entries into its map"))?;
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        within(bytes, self.storage_bytes, "storage", || format!("puts {bytes} bytes into its map"))
    }
}

/// Links the functions of the map.
pub(crate) fn link(linker: &mut Linker<Context>) -> wasmtime::Result<()> {
    let mut storage = linker.instance(abi::STORAGE)?;
    storage.func_wrap("get", |mut store: StoreContextMut<'_, Context>, (key,): (WasmList<u8>,)| {
        store.data_mut().readable("storage.get")?;
        burn(&mut store, READ_FUEL + key.len() as u64)?;
        let key = key.as_le_slice(&store).to_vec();
        let value = store.data_mut().readable("storage.get")?.map().get(&key).map(<[u8]>::to_vec);
        burn(&mut store, value.as_ref().map_or(0, Vec::len) as u64)?;
        Ok((value,))
    })?;
    storage.func_wrap(
        "put",
        |mut store: StoreContextMut<'_, Context>, (key, value): (WasmList<u8>, WasmList<u8>)| {
            store.data_mut().writable("storage.put")?;
            // Checked before the bytes are read: long ones must not make the host work.
            let checked = store.data().limits().check_entry(key.len(), value.len());
            store.data_mut().refuse(checked)?;
            burn(&mut store, WRITE_FUEL + 2 * (key.len() + value.len()) as u64)?;
            let (key, value) = (key.as_le_slice(&store).to_vec(), value.as_le_slice(&store).to_vec());
            store.data_mut().put(&key, &value)
        },
    )?;
    storage.func_wrap("delete", |mut store: StoreContextMut<'_, Context>, (key,): (WasmList<u8>,)| {
        store.data_mut().writable("storage.delete")?;
        burn(&mut store, WRITE_FUEL + key.len() as u64)?;
        let key = key.as_le_slice(&store).to_vec();
        store.data_mut().writable("storage.delete")?.delete(&key);
        Ok(())
    })?;
    link_ranges(&mut storage)?;
    let mut durability = linker.instance(abi::DURABILITY)?;
    durability.func_wrap("sync", |mut store: StoreContextMut<'_, Context>, (): ()| {
        store.data_mut().writable("durability.sync")?;
        burn(&mut store, WRITE_FUEL)?;
        store.data_mut().writable("durability.sync")?.sync();
        Ok(())
    })
}

/// Links the functions on several entries.
fn link_ranges(storage: &mut LinkerInstance<'_, Context>) -> wasmtime::Result<()> {
    storage.func_wrap(
        "delete-range",
        |mut store: StoreContextMut<'_, Context>, (start, end): (WasmList<u8>, Option<WasmList<u8>>)| {
            store.data_mut().writable("storage.delete-range")?;
            let (start, end) = bounds(&mut store, &start, end.as_ref())?;
            // Each entry is paid for before it is removed.
            let map = store.data_mut().writable("storage.delete-range")?.map().clone();
            for (key, value) in map.range(&start, end.as_deref()) {
                burn(&mut store, WRITE_FUEL + (key.len() + value.len()) as u64)?;
                store.data_mut().writable("storage.delete-range")?.delete(key);
            }
            Ok(())
        },
    )?;
    storage.func_wrap(
        "range",
        |mut store: StoreContextMut<'_, Context>,
         (start, end, order, limit): (WasmList<u8>, Option<WasmList<u8>>, OrderIn, u32)| {
            store.data_mut().readable("storage.range")?;
            let limits = store.data().limits();
            let checked = within(limit as usize, limits.items_per_call, "items", || {
                format!("calls `storage.range` for up to {limit} entries")
            });
            let bytes_max = limits.output_bytes;
            store.data_mut().refuse(checked)?;
            let (start, end) = bounds(&mut store, &start, end.as_ref())?;
            let map = store.data_mut().readable("storage.range")?.map().clone();
            let (mut entries, mut bytes) = (Vec::new(), 0);
            let mut found = map.range(&start, end.as_deref());
            let mut next = || match order {
                OrderIn::Ascending => found.next(),
                OrderIn::Descending => found.next_back(),
            };
            while entries.len() < limit as usize
                && let Some((key, value)) = next()
            {
                let more = key.len() + value.len();
                burn(&mut store, READ_FUEL + more as u64)?;
                bytes += more;
                let checked = within(bytes, bytes_max, "output", || {
                    format!("calls `storage.range`, whose result has more than {bytes_max} bytes")
                });
                store.data_mut().refuse(checked)?;
                entries.push(EntryOut { key: key.to_vec(), value: value.to_vec() });
            }
            Ok((entries,))
        },
    )?;
    Ok(())
}

/// The bounds of a range, which are paid for.
fn bounds(
    store: &mut StoreContextMut<'_, Context>,
    start: &WasmList<u8>,
    end: Option<&WasmList<u8>>,
) -> wasmtime::Result<(Vec<u8>, Option<Vec<u8>>)> {
    burn(store, READ_FUEL + (start.len() + end.map_or(0, WasmList::len)) as u64)?;
    Ok((start.as_le_slice(&*store).to_vec(), end.map(|end| end.as_le_slice(&*store).to_vec())))
}
