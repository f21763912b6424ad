//! A folder of small secret files: readable by their owner alone, replaced in one go, locked across processes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How often a lock is tried that somebody else holds.
const STEP: Duration = Duration::from_millis(20);

/// Tells apart what is being written by this process.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

#[derive(Debug, Clone)]
pub(super) struct Folder {
    path: PathBuf,
}

/// What was read of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) text: String,
    /// Whether others could read it until now.
    pub(super) was_open: bool,
}

/// A lock that is held as long as this lives; the system ends it with the process.
#[derive(Debug)]
pub(super) struct Held(#[expect(dead_code, reason = "it is held, not used")] File);

impl Folder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The file; none where it isn't there. One that others could read is closed to them.
    pub(super) fn read(&self, name: &str) -> io::Result<Option<Content>> {
        let path = self.file(name);
        let text = match fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(Content { text, was_open: close_to_others(&path, false)? }))
    }

    /// Replaces a file: whoever reads meanwhile, or after a crash, finds the old content or the new one.
    pub(super) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        self.make()?;
        let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
        let temporary = self.file(&format!("{name}.{}-{number}.new", std::process::id()));
        let written = self.write_new(&temporary, text).and_then(|()| fs::rename(&temporary, self.file(name)));
        if written.is_err() {
            let _ = fs::remove_file(&temporary); // what failed is told
        }
        written?;
        self.settle()
    }

    fn write_new(&self, path: &Path, text: &str) -> io::Result<()> {
        let _ = fs::remove_file(path); // of a process of the same number that crashed
        let mut file = private(OpenOptions::new().write(true).create_new(true)).open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    }

    /// Makes what was renamed or removed last.
    fn settle(&self) -> io::Result<()> {
        #[cfg(unix)]
        File::open(&self.path)?.sync_all()?;
        Ok(())
    }

    /// Takes a file away, with what a crash or a repair left of it; whether it was there.
    pub(super) fn remove(&self, name: &str) -> io::Result<bool> {
        let left = self
            .names("")?
            .into_iter()
            .filter(|other| other.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')));
        for other in left {
            self.remove_one(&other)?;
        }
        self.remove_one(name)
    }

    fn remove_one(&self, name: &str) -> io::Result<bool> {
        match fs::remove_file(self.file(name)) {
            Ok(()) => self.settle().map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The names with this ending, in order.
    pub(super) fn names(&self, ending: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        let mut names = names.collect::<io::Result<Vec<_>>>()?;
        names.retain(|name| name.ends_with(ending));
        names.sort();
        Ok(names)
    }

    /// Waits until nobody else in the world holds this lock; none where that takes too long. The file of a lock stays: one
    /// that is removed could be held by two.
    pub(super) async fn lock(&self, name: &str, patience: Duration) -> io::Result<Option<Held>> {
        self.make()?;
        let path = self.file(name);
        let file = private(OpenOptions::new().write(true).create(true).truncate(false)).open(path)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(Held(file))),
                Err(TryLockError::WouldBlock) if begun.elapsed() < patience => tokio::time::sleep(STEP).await,
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    /// Makes the folder, for its owner alone.
    fn make(&self) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&self.path)?;
        close_to_others(&self.path, true).map(drop)
    }
}

/// A file for its owner alone.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Takes away the rights of all but the owner; whether there were any. Elsewhere than on Unix the folder's own rights
/// have to do.
fn close_to_others(path: &Path, folder: bool) -> io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(if folder { 0o700 } else { 0o600 }))?;
            return Ok(true);
        }
    }
    #[cfg(not(unix))]
    let _ = (path, folder);
    Ok(false)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_are_for_their_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path().join("a/b"));
        assert_eq!(folder.read("x.json").unwrap(), None);
        assert!(folder.names(".json").unwrap().is_empty());
        folder.write("x.json", "1").unwrap();
        folder.write("x.json", "2").unwrap();
        assert_eq!((mode(folder.path()), mode(&folder.file("x.json"))), (0o700, 0o600));
        assert_eq!(folder.read("x.json").unwrap(), Some(Content { text: "2".to_owned(), was_open: false }));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left of what was written before");

        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::set_permissions(folder.file("x.json"), fs::Permissions::from_mode(0o644)).unwrap();
        assert!(folder.read("x.json").unwrap().unwrap().was_open);
        assert_eq!(mode(&folder.file("x.json")), 0o600);
        folder.write("y.json", "3").unwrap();
        assert_eq!(mode(folder.path()), 0o700);
        assert_eq!(folder.names(".json").unwrap(), ["x.json", "y.json"]);
        fs::write(folder.file("x.json.7-0.new"), "a crash left it").unwrap();
        assert!(folder.remove("x.json").unwrap() && !folder.remove("x.json").unwrap());
        assert_eq!(folder.names("").unwrap(), ["y.json"]);
    }

    #[test]
    fn what_cannot_be_written_leaves_what_was() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path().join("folder"));
        folder.write("x.json", "1").unwrap();
        fs::remove_file(folder.file("x.json")).unwrap();
        fs::create_dir(folder.file("x.json")).unwrap();
        fs::write(folder.file("x.json").join("inside"), "").unwrap();
        assert!(folder.write("x.json", "2").is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[tokio::test]
    async fn a_lock_is_held_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path().join("folder"));
        let (long, none) = (Duration::from_secs(20), Duration::ZERO);
        let held = folder.lock("x.lock", long).await.unwrap().unwrap();
        assert!(folder.lock("x.lock", none).await.unwrap().is_none());
        assert!(folder.lock("y.lock", none).await.unwrap().is_some());
        let (next, ()) = tokio::join!(folder.lock("x.lock", long), async { drop(held) });
        assert!(next.unwrap().is_some());
    }
}
