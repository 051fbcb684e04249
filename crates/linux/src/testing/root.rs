//! A temporary root directory for code that reads a host's files, removed at the end of the test.

use std::path::{Path, PathBuf};

pub struct Root(PathBuf);

impl Root {
    pub fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("slowhand-root-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write(&self, file: &str, text: &str) {
        let path = self.0.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
