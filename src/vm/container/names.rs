//! Names of entries: relative paths without `..`.

/// The longest name of a file or folder, bytes: that of ext4.
pub(crate) const MAX_NAME: usize = 255;

/// Splits the name of an entry into its parts; the folder itself (`./`) has none.
pub(crate) fn parts(name: &[u8]) -> Result<Vec<&[u8]>, String> {
    if name.is_empty() {
        return Err("it has no name".to_owned());
    }
    if name.starts_with(b"/") {
        return Err("its name is absolute".to_owned());
    }
    if name.contains(&0) {
        return Err("its name has a zero byte".to_owned());
    }
    let parts = name.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    let parts: Vec<&[u8]> = parts.collect();
    if parts.contains(&&b".."[..]) {
        return Err("its name contains `..`".to_owned());
    }
    if parts.iter().any(|part| part.len() > MAX_NAME) {
        return Err(format!("a part of its name is longer than {MAX_NAME} bytes"));
    }
    Ok(parts)
}
