//! Recordings of engines in tests, for `golden/record`.

use crate::Recording;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, thread};

/// The directory that tests record into, if they should.
const FOLDER: &str = "SLOWHAND_RECORD";

impl Recording {
    /// Records a test's engine into the directory that `SLOWHAND_RECORD` names, in a file named after the
    /// test. `None` if it is not set.
    ///
    /// # Panics
    /// When no file can be made there.
    pub fn of_test() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let folder = env::var_os(FOLDER)?;
        let thread = thread::current();
        let test = thread.name().unwrap_or("test").replace("::", "-");
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(&folder).join(format!("{test}-{number}.record"));
        let file = File::create(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Some(Self {
            about: format!("test {test}"),
            seed: None,
            texts: true,
            out: Box::new(file),
        })
    }
}
