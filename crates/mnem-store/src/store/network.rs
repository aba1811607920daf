//! File systems on which the locks of two machines may both hold.

use std::path::Path;

use super::environment::Environment;
use crate::error::{Error, ErrorKind, Hint};

/// As systems name them; after `fuse.` the program that serves it.
const NETWORK: [&str; 26] = [
    "9p",
    "afs",
    "afpfs",
    "beegfs",
    "ceph",
    "cifs",
    "coda",
    "davfs",
    "fuse.cephfs",
    "fuse.davfs",
    "fuse.gcsfuse",
    "fuse.glusterfs",
    "fuse.rclone",
    "fuse.s3fs",
    "fuse.sshfs",
    "gfs2",
    "glusterfs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "ocfs2",
    "smb2",
    "smb3",
    "smbfs",
    "webdav",
];

/// Refuses a directory on a file system of the network, or one that would be made there, unless
/// that is allowed.
pub(crate) fn check(directory: &Path, environment: &Environment) -> Result<(), Error> {
    let existing = directory.ancestors().find(|place| place.is_dir());
    let kind = existing
        .filter(|_| !environment.allow_network)
        .and_then(|place| (environment.file_system)(place))
        .filter(|kind| NETWORK.contains(&kind.as_str()));
    let Some(kind) = kind else { return Ok(()) };
    let message = format!(
        "{} is on a file system of the network ({kind}), where a lock may not keep other machines off",
        directory.display()
    );
    Err(Error::new(ErrorKind::Io, message).hint(Hint::AllowNetwork))
}
