//! `--record FILE`: what the engine is told and asks for, written to a file while the daemon runs.
//!
//! The engine's thread must not wait for a disk. It passes the bytes to a thread that writes them. If
//! [`MOST_WAITING`] bytes wait for a slow disk, the recording ends early. The daemon continues, and its log
//! says so.

use record::Recording;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use thiserror::Error;
use trace::Shown;

/// Bytes that may wait for the disk. A busy host records some kilobytes a second.
const MOST_WAITING: usize = 16 << 20;
/// When nothing new comes, what is in memory is written after this time.
const FLUSH_AFTER: Duration = Duration::from_secs(1);

/// Why nothing can be recorded.
#[derive(Debug, Error)]
pub enum RecordingError {
    /// Something is there already.
    #[error("--record {}: exists already; name a new file", Shown(.0.display()))]
    Exists(PathBuf),
    /// The file cannot be made.
    #[error("--record {}: {error}; name a file in a folder that root can write to", Shown(path.display()))]
    Unwritable {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// A recording that is being written. Finish it after the daemon, which holds the other end, was dropped.
#[derive(Debug)]
pub struct Spool {
    writer: JoinHandle<io::Result<()>>,
    queue: Arc<Queue>,
}

/// What both threads know of the bytes between them.
#[derive(Debug, Default)]
struct Queue {
    waiting: AtomicUsize,
    overflowed: AtomicBool,
}

impl Spool {
    /// Makes the file, which only its owner can read, and starts the thread that writes to it.
    ///
    /// # Errors
    /// If it exists or cannot be made. An existing file is left as it is.
    pub fn begin(path: &Path, about: String) -> Result<(Self, Recording), RecordingError> {
        let mut options = OpenOptions::new();
        let made = options.write(true).create_new(true).mode(0o600).open(path);
        let file = made.map_err(|error| refusal(path, error))?;
        let (chunks, received) = channel();
        let queue = Arc::new(Queue::default());
        let counted = Arc::clone(&queue);
        let thread = std::thread::Builder::new().name("recording".to_owned());
        let writer = thread.spawn(move || write_all(&file, &received, &counted));
        let writer = writer.map_err(|error| refusal(path, error))?;
        let recording = Recording {
            about,
            seed: None,
            texts: true,
            out: Box::new(Inlet {
                chunks,
                queue: Arc::clone(&queue),
            }),
        };
        Ok((Self { writer, queue }, recording))
    }

    /// Waits until everything is in the file.
    ///
    /// # Errors
    /// If not everything could be written: the file ends early then.
    pub fn finish(self) -> io::Result<()> {
        let written = self.writer.join();
        written.unwrap_or_else(|_| Err(io::Error::other("its thread ended early")))?;
        if self.queue.overflowed.load(Ordering::Relaxed) {
            return Err(io::Error::other("the disk was too slow"));
        }
        Ok(())
    }
}

fn refusal(path: &Path, error: io::Error) -> RecordingError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::AlreadyExists => RecordingError::Exists(path),
        _ => RecordingError::Unwritable { path, error },
    }
}

/// The engine's end.
struct Inlet {
    chunks: Sender<Vec<u8>>,
    queue: Arc<Queue>,
}

impl Write for Inlet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Queue { waiting, overflowed } = &*self.queue;
        if waiting.load(Ordering::Relaxed) > MOST_WAITING {
            overflowed.store(true, Ordering::Relaxed);
            return Err(io::ErrorKind::WouldBlock.into());
        }
        waiting.fetch_add(bytes.len(), Ordering::Relaxed);
        let sent = self.chunks.send(bytes.to_vec());
        sent.map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes until the engine's end is dropped.
fn write_all(file: &File, chunks: &Receiver<Vec<u8>>, queue: &Queue) -> io::Result<()> {
    use std::sync::mpsc::RecvTimeoutError::{Disconnected, Timeout};
    let mut out = BufWriter::new(file);
    loop {
        match chunks.recv_timeout(FLUSH_AFTER) {
            Ok(chunk) => {
                queue.waiting.fetch_sub(chunk.len(), Ordering::Relaxed);
                out.write_all(&chunk)?;
            }
            Err(Timeout) => out.flush()?,
            Err(Disconnected) => return out.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("slowhand-recording-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn what_the_engine_writes_is_in_a_file_that_only_its_owner_reads() {
        let folder = scratch("whole");
        let path = folder.join("walk.record");
        let (spool, mut recording) = Spool::begin(&path, "a test".to_owned()).unwrap();
        for part in 0..100u8 {
            recording.out.write_all(&[part; 1_000]).unwrap();
        }
        drop(recording);
        spool.finish().unwrap();
        let all = std::fs::read(&path).unwrap();
        assert!(
            all.chunks(1_000)
                .zip(0..)
                .all(|(chunk, part)| chunk == [part; 1_000])
        );
        assert_eq!(all.len(), 100_000);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_that_exists_stays_as_it_is() {
        let folder = scratch("exists");
        let path = folder.join("walk.record");
        std::fs::write(&path, "mine").unwrap();
        let error = Spool::begin(&path, String::new()).unwrap_err().to_string();
        assert!(
            error.ends_with("walk.record: exists already; name a new file"),
            "{error}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), b"mine");
        let error = Spool::begin(&folder.join("no/walk.record"), String::new()).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("name a file in a folder that root can write to")
        );
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_disk_that_is_full_or_too_slow_is_reported_at_the_end() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (chunks, received) = channel();
        chunks.send(vec![0; 100_000]).unwrap();
        drop(chunks);
        let error = write_all(&full, &received, &Queue::default()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);

        let queue = Arc::new(Queue::default());
        let (chunks, _received) = channel();
        let mut inlet = Inlet {
            chunks,
            queue: Arc::clone(&queue),
        };
        inlet.write_all(&vec![0; MOST_WAITING + 1]).unwrap();
        inlet.write_all(&[0]).unwrap_err();
        let writer = std::thread::spawn(|| Ok(()));
        let error = Spool { writer, queue }.finish().unwrap_err();
        assert_eq!(error.to_string(), "the disk was too slow");
    }
}
