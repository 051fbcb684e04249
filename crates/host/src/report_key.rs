//! The key with which a mobile signs its signal reports, and with which servers check them.

use crate::trusted::{self, Keeping, TrustError};
use std::path::Path;
use wire::mobility::Key;

/// Reads a key that mobiles and servers share, from a file that nobody else may read.
pub fn read(path: &Path) -> Result<Key, String> {
    let make = format!(
        "`(umask 077; openssl rand -hex 32 > {})` makes a key",
        path.display()
    );
    read_from(path, &make)
}

/// Reads such a key. `otherwise` says what to do if there is none.
pub fn read_from(path: &Path, otherwise: &str) -> Result<Key, String> {
    let shown = path.display();
    let text = trusted::read(path, Keeping::Secret).map_err(|error| match error {
        TrustError::Absent(_) => format!("{error}; {otherwise}"),
        error => error.to_string(),
    })?;
    Key::from_hex(&text).ok_or_else(|| {
        format!("{shown}: a key is 64 hexadecimal digits, as `openssl rand -hex 32` prints them")
    })
}
