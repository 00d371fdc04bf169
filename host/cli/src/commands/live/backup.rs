//! `host live backup` and `host live restore`: the state of a node as a file, and a new cluster from it.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

use host_live::disk::{Backup, NoBackup, Trouble};
use host_live_net::Owner;
use host_session::base::text::{count, on_one_line};
use host_session::base::{Exit, Failure};
use host_session::live::{Running, RunningSpec};

use crate::commands::live::status::furthest;
use crate::environment::Environment;
use crate::options::live::{BackupArguments, RestoreArguments};

/// Writes the state of a node to a file.
pub(super) fn backup(arguments: &BackupArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let spec = RunningSpec::read(&arguments.cluster, &environment.context())?;
    let id = match arguments.id {
        Some(id) => spec.node(id).map(|_| id)?,
        None => node_with_most(&spec, environment)?,
    };
    let out = environment.path(&arguments.out);
    let name = shown(&arguments.out);
    if out.symlink_metadata().is_ok() {
        let failure = Failure::configuration(format_args!("{name} exists, and a backup replaces no file"));
        return Err(failure.help("name a new file"));
    }
    let disk = environment.path(&spec.disk(id));
    let Some(bytes) = host_live_net::data_of(&disk).map_err(Failure::system)? else {
        let failure = Failure::configuration(format_args!("node {id} has no data: there is no {}", shown(&disk)));
        return Err(failure.help("start the cluster first, or name the file of the cluster that has the data"));
    };
    let backup =
        Backup::of_file(&bytes).map_err(|wrong| refused(&disk, wrong, "start the node, which names the way out"))?;
    write(&out, &backup.to_bytes()).map_err(|error| Failure::system(format_args!("cannot write {name}: {error}")))?;
    let start = backup.start();
    environment.print(&format!("node {id}, start {start}, {}: {name}\n", entries(&backup)))?;
    Ok(Exit::Ok)
}

/// The node whose protocol has the most progress.
fn node_with_most(spec: &RunningSpec, environment: &Environment<'_>) -> Result<u32, Failure> {
    let (help, what) = ("give --id N", "no node is named, and");
    if spec.operations.status.is_none() || spec.operations.progress.is_none() {
        let why = format!("{what} the file has no `status` and `progress` in [operations] to choose one by");
        return Err(Failure::configuration(why).help(help));
    }
    let found = furthest(spec, environment);
    found.ok_or_else(|| Failure::configuration(format_args!("{what} no running node reports its progress")).help(help))
}

/// Makes the data of all nodes of a new cluster.
pub(super) fn restore(arguments: &RestoreArguments, environment: &mut Environment<'_>) -> Result<Exit, Failure> {
    let mut spec = super::read(&arguments.cluster, arguments.source, &arguments.limits, environment)?;
    let path = environment.path(&arguments.backup);
    let bytes = host_live_net::data_of(&path).map_err(Failure::system)?;
    let bytes = bytes.ok_or_else(|| {
        Failure::configuration(format_args!("there is no {}", shown(&arguments.backup)))
            .help("name a file that `host live backup` has written")
    })?;
    let backup = Backup::read(&bytes)
        .map_err(|wrong| refused(&arguments.backup, wrong, "use another backup; this one is no use"))?;
    let disks: Vec<PathBuf> = (0..spec.nodes.len() as u32).map(|id| environment.path(&spec.disk(id))).collect();
    let name = environment.path(&spec.name_file());
    refuse_data(&disks, &name)?;
    // A new cluster: nodes of the former one are refused.
    spec.draw_name(RandomState::new().build_hasher().finish(), &environment.context())?;
    spec.recall_name(&environment.context())?;
    restore_nodes(&spec, &disks, &backup, arguments, environment).inspect_err(|_| {
        drop(std::fs::remove_file(&name));
        drop(name.parent().map(std::fs::remove_dir));
    })?;
    let (from, nodes) = (backup.owner().node, count(disks.len() as u64, "node"));
    environment.print(&format!(
        "{nodes} with the state of node {from}, start {}, {}\n",
        backup.start(),
        entries(&backup)
    ))?;
    Ok(Exit::Ok)
}

/// Makes the data of all nodes; none if one cannot be made.
fn restore_nodes(
    spec: &RunningSpec,
    disks: &[PathBuf],
    backup: &Backup,
    arguments: &RestoreArguments,
    environment: &mut Environment<'_>,
) -> Result<(), Failure> {
    let running = Running::open(spec, &mut environment.context())?;
    let (name, digest) = running.stated();
    let component = (name.to_owned(), digest.to_owned());
    let mut owners = Vec::new();
    for id in 0..spec.nodes.len() as u32 {
        let seat = running.seat(id, 0, &environment.context())?;
        owners.push(Owner::new(&seat.identity, seat.settings.network, &component));
    }
    check(backup, &owners[0], arguments)?;
    let folder = disks[0].parent().unwrap_or(Path::new("."));
    host_live_net::make_folder(folder)
        .map_err(|error| Failure::system(format_args!("cannot make {}: {error}", shown(folder))))?;
    for (number, (disk, owner)) in (1..).zip(disks.iter().zip(&owners)) {
        if let Err(error) = host_live_net::restore(disk, owner, &backup.restored()) {
            // All nodes or none: a part of them could elect a leader that lacks what the rest would have had.
            for disk in &disks[..number] {
                for extension in ["disk", "lock", "next"] {
                    drop(std::fs::remove_file(disk.with_extension(extension)));
                }
            }
            return Err(Failure::system(error).help("nothing is restored; mend the cause, and restore again"));
        }
    }
    Ok(())
}

/// Refuses to restore where some node has data.
fn refuse_data(disks: &[PathBuf], name: &Path) -> Result<(), Failure> {
    let files = disks.iter().flat_map(|disk| ["disk", "lock", "next"].map(|extension| disk.with_extension(extension)));
    let Some(there) = files.chain([name.to_owned()]).find(|file| file.symlink_metadata().is_ok()) else {
        return Ok(());
    };
    let failure = Failure::configuration(format_args!("{} exists: the cluster has data", shown(&there)));
    Err(failure
        .help("end its nodes and move the folder of the data away, or name another one in the file of the cluster"))
}

fn check(backup: &Backup, here: &Owner, arguments: &RestoreArguments) -> Result<(), Failure> {
    let name = shown(&arguments.backup);
    let failure = match backup.check::<()>(here, arguments.take_data) {
        Ok(()) => return Ok(()),
        Err(Trouble::Other(owner)) => {
            let what = format!("{name} is of {}, and the cluster runs {}", owner.plugin, here.plugin);
            return Err(Failure::configuration(what).help("name the file of a cluster that runs it"));
        }
        Err(Trouble::Changed(what)) => format!("{name} was written by a node with {what}"),
        Err(_) => format!("{name} does not fit the cluster"),
    };
    let help =
        "give --take-data if its nodes can read that; or restore with the component and the parameters as they were";
    Err(Failure::configuration(failure).help(help))
}

fn refused(path: &Path, wrong: NoBackup, help: &str) -> Failure {
    let name = shown(path);
    match wrong {
        NoBackup::Foreign => Failure::configuration(format_args!("{name} is no data of a node"))
            .help("name a file that was written as a backup"),
        NoBackup::Damaged(at) => {
            Failure::configuration(format_args!("{name} is damaged, or cut, at byte {at}")).help(help)
        }
        NoBackup::Empty => Failure::configuration(format_args!("{name} has no state: its node has not started yet"))
            .help("take the backup once the node has started"),
    }
}

fn entries(backup: &Backup) -> String {
    match backup.entries() {
        0 => "no entries in the map".to_owned(),
        entries => {
            format!("{} in the map", if entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") })
        }
    }
}

fn shown(path: &Path) -> String {
    on_one_line(&path.display().to_string())
}

/// Writes a file that does not exist, as a whole, and durably.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map_err(|error| error.error)?;
    std::fs::File::open(folder)?.sync_all()
}
