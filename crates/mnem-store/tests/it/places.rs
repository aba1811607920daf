//! A store where it cannot be written, where there is no room left, and where locks may not hold.
//! What takes a mount or a limit runs in a process of its own: this test binary, for `worker`.

use std::fs;
use std::path::Path;

use mnem_store::backend::redb::{Access, Settings};
use mnem_store::backend::{BackendError, RedbBackend};
use mnem_store::ops::log::LogOptions;
use mnem_store::{BranchName, Environment, ErrorKind, InitOptions, Store};

use crate::support::{environment, id, meta, note, put};

#[test]
fn a_file_system_of_the_network_is_refused_unless_allowed() {
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().join("deep/store");
    for kind in [|_: &Path| Some("nfs4".to_owned()), |_: &Path| Some("fuse.sshfs".to_owned())] {
        let remote = Environment { file_system: kind, ..environment() };
        let named = kind(&place).unwrap();
        let refused = |result: Result<Store, mnem_store::Error>| {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io);
            assert!(error.to_string().contains(&format!("network ({named})")), "{error}");
            assert!(error.hint_text().unwrap().contains("MNEM_ALLOW_NETWORK=1"));
        };
        refused(Store::init(&place, &InitOptions::default(), remote.clone()));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "nothing was made");
        let allowed = Environment { allow_network: true, ..remote.clone() };
        put(&Store::init(&place, &InitOptions::default(), allowed.clone()).unwrap(), "a", "1");
        refused(Store::open(&place, remote));
        put(&Store::open(&place, allowed).unwrap(), "b", "1");
        fs::remove_dir_all(directory.path().join("deep")).unwrap();
    }
    let local = Environment { file_system: |_| Some("ext4".into()), ..environment() };
    Store::init(&place, &InitOptions::default(), local).unwrap();
}

/// `here/../there` is beside `here`, not below it: the store of `here` must not answer for it.
#[test]
fn a_path_with_dots_is_where_it_leads() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let (here, there) = (root.join("here"), root.join("there"));
    put(&Store::init(&here, &InitOptions::default(), environment()).unwrap(), "a", "1");
    let beside = here.join("../there");
    assert_eq!(Store::discover(&beside).unwrap_err().kind(), ErrorKind::NoStore);
    assert_eq!(Store::open(&beside, environment()).unwrap_err().kind(), ErrorKind::NoStore);
    let made = Store::init(&beside, &InitOptions::default(), environment()).unwrap();
    assert_eq!(made.root(), Some(&*there));
    assert_eq!(Store::discover(&there.join("x/.././y/..")).unwrap(), there);
    fs::create_dir(here.join("x")).unwrap();
    assert_eq!(Store::discover(&there.join("../here/x")).unwrap(), here);
    for gone in ["y", "x/y/z"] {
        let error = Store::open(&here.join(gone), environment()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoStore);
        assert!(
            error.to_string().ends_with(&format!("{gone} does not exist, so no store is there"))
        );
    }
    #[cfg(unix)]
    {
        // Above a link is what is above the directory that it leads to.
        fs::create_dir_all(there.join("deep")).unwrap();
        std::os::unix::fs::symlink(there.join("deep"), here.join("link")).unwrap();
        assert_eq!(Store::discover(&here.join("link/..")).unwrap(), there);
        assert_eq!(Store::discover(&here.join("link")).unwrap(), here);
    }
}

#[test]
fn who_reads_a_file_keeps_writers_out_and_other_readers_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store.redb");
    drop(RedbBackend::create(&path, [7; 16], Settings::default()).unwrap());
    let before = fs::read(&path).unwrap();
    let read = || RedbBackend::open_as(&path, Access::Read, Settings::default(), None);
    let readers = (read().unwrap(), read().unwrap());
    let error = RedbBackend::open(&path, Settings::default()).unwrap_err();
    assert!(matches!(error, BackendError::Locked), "{error}");
    assert!(redb::Database::open(&path).is_err());
    drop(readers);
    assert_eq!(fs::read(&path).unwrap(), before);
    let writer = RedbBackend::open(&path, Settings::default()).unwrap();
    assert!(matches!(read().unwrap_err(), BackendError::Locked));
    assert!(redb::Database::open(&path).is_err());
    drop(writer);
    read().unwrap();
}

/// A store as a process leaves it that is killed: its data file was never closed.
fn killed(root: &Path) {
    let live = tempfile::tempdir().unwrap();
    let store = Store::init(live.path(), &InitOptions::default(), environment()).unwrap();
    for number in 0..20 {
        put(&store, &format!("n{number}"), "1");
    }
    fs::create_dir(root.join(".mnem")).unwrap();
    for file in fs::read_dir(live.path().join(".mnem")).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), root.join(".mnem").join(file.file_name())).unwrap();
    }
}

fn files(root: &Path) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let all = fs::read_dir(root.join(".mnem")).unwrap().map(Result::unwrap);
    let mut files: Vec<_> =
        all.map(|file| (file.file_name(), fs::read(file.path()).unwrap())).collect();
    files.sort();
    files
}

/// What a store that can only be read does, while another process reads it too.
fn is_read_and_not_written(root: &Path) {
    let other = fs::File::open(root.join(".mnem/lock")).unwrap();
    other.lock_shared().unwrap();
    let store = Store::open(root, environment()).unwrap();
    assert!(store.snapshot().unwrap().get(&id("n19")).unwrap().is_some());
    assert_eq!(store.log(&LogOptions::default()).unwrap().len(), 20);
    assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
    let changes = || [(id("new"), Some(note("new", "1")))].into();
    let side = BranchName::new("side").unwrap();
    let errors = [
        store.write(changes(), &meta("lost")).unwrap_err(),
        store.update(&meta("lost"), |_| Ok(changes())).unwrap_err(),
        store.stage(note("new", "1")).unwrap_err(),
        store.create_branch(&side, None, "t").unwrap_err(),
        store.on(&side, "t").unwrap_err(),
        store.checkout_new(&side, None, false, "t").unwrap_err(),
        store.checkout("HEAD~1", false).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Io);
        let told = format!("the store at {} can only be read", root.display());
        assert!(error.to_string().starts_with(&told), "{error}");
        assert!(error.hint_text().is_some());
    }
    assert!(store.snapshot().unwrap().get(&id("n0")).unwrap().is_some());
    assert_eq!(store.head().unwrap().render(), "ref: main");
}

/// What happens to a store whose disk fills up, and has room again after `make_room`.
fn fills_up_and_goes_on(root: &Path, make_room: impl FnOnce()) {
    let store = Store::init(root, &InitOptions::default(), environment()).unwrap();
    let text = "x".repeat(100_000);
    let mut written = 0;
    let error = loop {
        let node = note(&format!("n{written}"), &text);
        match store.write([(node.id.clone(), Some(node))].into(), &meta("more")) {
            Ok(_) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1_000, "the disk never filled up");
    };
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(error.hint_text().unwrap().contains("room"), "{error}");
    let file = root.join(".mnem").join("store.redb").display().to_string();
    assert!(error.to_string().contains(&file), "{error}");
    assert!(written > 0, "{error}");
    let all_there = || {
        let memory = store.snapshot().unwrap().memory("", None).unwrap();
        assert_eq!(memory.len(), written);
        assert!(memory.values().all(|node| node.content == note("n", &text).content));
    };
    all_there();
    let again = store.write([(id("again"), Some(note("again", &text)))].into(), &meta("again"));
    assert_eq!(again.unwrap_err().kind(), ErrorKind::Io);
    all_there();
    make_room();
    put(&store, "room", "1");
    assert_eq!(store.snapshot().unwrap().count().unwrap(), written as u64 + 1);
    drop(store);
    let store = Store::open(root, environment()).unwrap();
    assert_eq!(store.verify(|_| ()).unwrap().problems, Vec::<String>::new());
    assert_eq!(store.snapshot().unwrap().count().unwrap(), written as u64 + 1);
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;
    use std::process::{Command, Stdio};

    use super::*;

    /// Runs `worker` on a directory from a script of sh, where it is `"$@"` and the directory
    /// `$place`.
    fn run(command: &str, script: &str, work: &str, place: &Path) {
        let mut words = command.split(' ');
        let mut running = Command::new(words.next().unwrap())
            .args(words)
            .args(["sh", "-ec", script, "sh"])
            .arg(std::env::current_exe().unwrap())
            .args(["places::linux::worker", "--exact", "--ignored", "--nocapture"])
            .env("place", place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let told = format!("{work}|{}", place.display());
        running.stdin.take().unwrap().write_all(told.as_bytes()).unwrap();
        let done = running.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&done.stdout);
        let why = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success() && told.contains("1 passed"), "{told}{why}");
    }

    #[allow(clippy::print_stderr)] // why a test is skipped
    fn can(command: &str) -> bool {
        let mut words = command.split(' ');
        let tried = Command::new(words.next().unwrap()).args(words).stderr(Stdio::null()).status();
        let is_good = tried.is_ok_and(|status| status.success());
        if !is_good {
            eprintln!("skipped: this machine does not permit `{command}`");
        }
        is_good
    }

    #[test]
    #[ignore = "what the other tests run as a process of its own"]
    fn worker() {
        let told = std::io::read_to_string(std::io::stdin()).unwrap();
        let (work, place) = told.split_once('|').unwrap();
        let place = Path::new(place);
        match work {
            "read" => is_read_and_not_written(place),
            "fill a disk" => {
                let ballast = place.join("ballast");
                fs::write(&ballast, vec![1; 2 << 20]).unwrap();
                fills_up_and_goes_on(&place.join("store"), || fs::remove_file(&ballast).unwrap());
            }
            "fill a file" => fills_up_and_goes_on(&place.join("store"), || {
                let me = std::process::id().to_string();
                let raise = ["--pid", &me, "--fsize=unlimited"];
                assert!(Command::new("prlimit").args(raise).status().unwrap().success());
            }),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_store_on_a_read_only_disk_is_read() {
        let directory = tempfile::tempdir().unwrap();
        killed(directory.path());
        let before = files(directory.path());
        if directory.path().metadata().unwrap().uid() == 0 {
            // The superuser writes whatever its mode says, so the disk itself must be read-only.
            if !can("unshare --mount true") {
                return;
            }
            let script = "mount --bind \"$place\" \"$place\"; \
                          mount -o remount,ro,bind \"$place\"; exec \"$@\"";
            run("unshare --mount", script, "read", directory.path());
        } else {
            let script = "chmod -R a-w \"$place\"; \"$@\"; chmod -R u+w \"$place\"";
            run("env", script, "read", directory.path());
        }
        assert_eq!(files(directory.path()), before);
    }

    #[test]
    fn a_full_disk_is_read_and_written_again_once_there_is_room() {
        if can("unshare --mount true") {
            let directory = tempfile::tempdir().unwrap();
            let script = "mount -t tmpfs -o size=8m tmpfs \"$place\"; exec \"$@\"";
            run("unshare --mount", script, "fill a disk", directory.path());
        }
    }

    #[test]
    fn a_file_that_may_not_grow_is_read_and_written_again_once_it_may() {
        if can("prlimit --fsize=4194304:unlimited true") {
            let directory = tempfile::tempdir().unwrap();
            // The signal that such a write raises would end the process.
            let script = "trap '' XFSZ; exec \"$@\"";
            run("prlimit --fsize=4194304:unlimited", script, "fill a file", directory.path());
        }
    }
}
