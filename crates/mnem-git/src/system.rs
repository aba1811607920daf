//! The machine's clock, randomness and environment, which the engine is given.

use std::path::{Component, Path, PathBuf, Prefix};
use std::time::{SystemTime, UNIX_EPOCH};

use mnem_store::{Clock, Entropy, Environment, Error, ErrorKind};

/// The author when nobody says who writes.
pub const UNKNOWN_AUTHOR: &str = "unknown";

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}

/// The machine's randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), Error> {
        getrandom::fill(bytes).map_err(|error| {
            Error::new(ErrorKind::Io, format!("the system gives no random bytes: {error}"))
        })
    }
}

/// What an engine is given on this machine.
pub fn environment() -> Environment {
    let host = gethostname::gethostname().to_string_lossy().into_owned();
    let allow_network = std::env::var("MNEM_ALLOW_NETWORK").is_ok_and(|value| value == "1");
    let environment = Environment::new(SystemClock, SystemEntropy);
    Environment { host, file_system, free_bytes, allow_network, ..environment }
}

/// How many bytes the file system that a directory is on has free for who has no privileges.
#[cfg(unix)]
fn free_bytes(directory: &Path) -> Option<u64> {
    let told = rustix::fs::statvfs(directory).ok()?;
    told.f_bavail.checked_mul(told.f_frsize)
}

/// Elsewhere a full disk is told once it is full.
#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// The kind of file system that a directory is on, where the system tells it to anybody.
fn file_system(directory: &Path) -> Option<String> {
    if let Some(Component::Prefix(prefix)) = directory.components().next()
        && matches!(prefix.kind(), Prefix::UNC(..) | Prefix::VerbatimUNC(..))
    {
        return Some("cifs".into());
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    file_system_in(&mounts, &directory.canonicalize().ok()?)
}

/// The same by the table of Linux (proc(5)): the deepest mount that a path is in, and of several
/// at one place the last.
fn file_system_in(mounts: &str, path: &Path) -> Option<String> {
    let mounts = mounts.lines().filter_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let point = PathBuf::from(unescaped(mount.split(' ').nth(4)?));
        Some((point, kind.split(' ').next()?))
    });
    mounts
        .filter(|(point, _)| path.starts_with(point))
        .max_by_key(|(point, _)| point.components().count())
        .map(|(_, kind)| kind.to_owned())
}

/// Blanks and backslashes are written as three octal digits there.
fn unescaped(text: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

/// Who writes: as said, else `MNEM_AUTHOR`, else `unknown`. Empty is not said.
pub fn author(said: Option<&str>) -> String {
    said.map(str::to_owned)
        .filter(|name| !name.is_empty())
        .or_else(|| std::env::var("MNEM_AUTHOR").ok().filter(|name| !name.is_empty()))
        .unwrap_or_else(|| UNKNOWN_AUTHOR.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deepest_and_last_mount_counts() {
        let mounts = "\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:25 / /data rw - nfs4 server:/data rw,vers=4.2
31 22 0:26 / /data/a\\040b rw shared:7 master:1 - fuse.sshfs host: rw
32 22 0:27 / /srv rw - ext4 /dev/vdb rw
33 32 0:28 / /srv rw - 9p share rw
";
        for (path, kind) in [
            ("/var/lib", "ext4"),
            ("/data", "nfs4"),
            ("/data/a", "nfs4"),
            ("/data/a b/store", "fuse.sshfs"),
            ("/database", "ext4"),
            ("/srv/x", "9p"),
        ] {
            assert_eq!(file_system_in(mounts, Path::new(path)).as_deref(), Some(kind), "{path}");
        }
        assert_eq!(file_system_in("", Path::new("/")), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_machine_tells() {
        assert_eq!(file_system(Path::new("/proc")).as_deref(), Some("proc"));
    }
}
