//! Signatures of archives: `SHA256SUMS.sig` is a signature of `SHA256SUMS`, which has the digests of all other files. It
//! is made and checked by `ssh-keygen -Y` of OpenSSH, so readers need no other program.

use super::ArchiveError;
use super::paths::ArchivePaths;
use super::verify::Verified;
use mcc_base::child_process::{self, Purpose};
use mcc_base::{OnFile, files};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Output, Stdio};

/// The purpose for which keys sign: a signature for another purpose is not accepted.
pub const NAMESPACE: &str = "mcc-harness-archive";
const PROGRAM: &str = "ssh-keygen";
/// A signature with the longest RSA key has some 3 KiB.
const MAX_SIGNATURE_BYTES: u64 = 64 << 10;
/// The part of a file of signers that is checked line by line.
const MAX_SIGNERS_BYTES: u64 = 16 << 20;

/// Signs the text of a file with an SSH key: a private key, or the public key of one that the agent has.
///
/// # Errors
/// ssh-keygen cannot be started, or cannot use the key.
pub fn sign(text: File, key: &Path) -> Result<Vec<u8>, ArchiveError> {
    let bad = |reason: String| ArchiveError::Bad { path: key.to_owned(), reason };
    let signed = child_process::command(PROGRAM, Purpose::Sign)
        .args(["-Y", "sign", "-n", NAMESPACE, "-f"])
        .arg(key)
        .stdin(Stdio::from(text))
        .output()
        .on("start", PROGRAM)?;
    if signed.status.success() && !signed.stdout.is_empty() {
        Ok(signed.stdout)
    } else {
        Err(bad(format!("{PROGRAM} cannot sign with this key: {}", last_line(&signed))))
    }
}

impl Verified {
    /// Checks that the unpacked archive in `folder` is signed by a signer in the file `allowed` (ALLOWED SIGNERS in
    /// ssh-keygen(1)). The content is as signed only if `verify` finds no other difference.
    ///
    /// # Errors
    /// A file cannot be read, `allowed` has another line, or ssh-keygen cannot be started. A wrong or missing signature is a difference.
    pub(super) fn signature(&mut self, folder: &Path, allowed: &Path) -> Result<(), ArchiveError> {
        is_list_of_signers(allowed)?;
        let paths = ArchivePaths(folder);
        let place = "SHA256SUMS.sig";
        let (sums, signature) = (paths.sums(), folder.join(place));
        match files::open_own(&signature).and_then(|file| text_of(&file)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.differs(place, "is missing: the archive is not signed");
                self.not_accepted = true;
                return Ok(());
            }
            text => {
                if !is_one_signature(&text.on("read", &signature)?) {
                    self.differs(place, "is not one signature as ssh-keygen(1) writes it, and nothing else");
                    return Ok(());
                }
            }
        }
        let run = |args: &[&str]| -> Result<Output, ArchiveError> {
            let text = files::open_own(&sums).on("read", &sums)?;
            let mut command = child_process::command(PROGRAM, Purpose::Local);
            command.args(["-Y", args[0], "-n", NAMESPACE, "-s"]).arg(&signature).args(&args[1..]);
            // Where the command looks up signers.
            if args[0] != "check-novalidate" {
                command.arg("-f").arg(allowed);
            }
            Ok(command.stdin(Stdio::from(text)).output().on("start", PROGRAM)?)
        };
        let fits = run(&["check-novalidate"])?;
        if !fits.status.success() {
            let what = "does not fit SHA256SUMS: the archive was changed after it was signed, or this is not a signature of an archive";
            self.differs(place, format!("{what} ({})", last_line(&fits)));
            return Ok(());
        }
        let output = String::from_utf8_lossy(&fits.stdout).into_owned();
        let key = output.trim().rsplit_once(" with ").map_or("an unknown key", |(_, key)| key).to_owned();
        let signers = run(&["find-principals"])?;
        let names = String::from_utf8_lossy(&signers.stdout).into_owned();
        let names: Vec<&str> = names.lines().map(str::trim).filter(|name| !name.is_empty()).collect();
        if !signers.status.success() || names.is_empty() {
            let allowed = allowed.display();
            self.differs(place, format!("was made by {key}, which is the key of no signer in {allowed}"));
            self.not_accepted = true;
            return Ok(());
        }
        let mut refusal = String::new();
        for name in names {
            let verified = run(&["verify", "-I", name])?;
            if verified.status.success() {
                self.signer = Some(format!("{name}, {key}"));
                return Ok(());
            }
            refusal = last_line(&verified);
        }
        let allowed = allowed.display();
        self.differs(
            place,
            format!("was made by {key}, whose entry in {allowed} does not permit it ({refusal})"),
        );
        self.not_accepted = true;
        Ok(())
    }
}

/// The text of a file; of a text that is too long for a signature only as much as shows that.
fn text_of(file: &File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(MAX_SIGNATURE_BYTES + 1).read_to_end(&mut text)?;
    Ok(text)
}

/// Whether a text is one signature. ssh-keygen ignores what follows it, which anyone could add.
fn is_one_signature(text: &[u8]) -> bool {
    let base64 = text.strip_prefix(b"-----BEGIN SSH SIGNATURE-----\n");
    let base64 = base64.and_then(|text| text.strip_suffix(b"\n-----END SSH SIGNATURE-----\n"));
    let is_line = |line: &[u8]| {
        !line.is_empty() && line.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte))
    };
    text.len() as u64 <= MAX_SIGNATURE_BYTES
        && base64.is_some_and(|text| text.split(|byte| *byte == b'\n').all(is_line))
}

/// Checks that every line of a file is that of a signer, empty, or a comment.
fn is_list_of_signers(allowed: &Path) -> Result<(), ArchiveError> {
    let mut text = Vec::new();
    let file = files::open(allowed).on("read", allowed)?;
    file.take(MAX_SIGNERS_BYTES).read_to_end(&mut text).on("read", allowed)?;
    for (number, line) in (1..).zip(String::from_utf8_lossy(&text).lines()) {
        let line = line.trim();
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        // Between name and type of the key there can be options. The Base64 text of a key begins with the length of its type.
        let has_key = words.windows(3).any(|words| {
            ["ssh-", "ecdsa-", "sk-"].iter().any(|kind| words[1].starts_with(kind))
                && words[2].starts_with("AAAA")
        });
        if !(line.is_empty() || line.starts_with('#') || has_key) {
            return Err(ArchiveError::Bad {
                path: format!("{}:{number}", allowed.display()).into(),
                reason: "not a line `NAME KEYTYPE KEY`; give a file of accepted signers (ALLOWED SIGNERS in ssh-keygen(1))"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// The last line of what the program printed.
fn last_line(output: &Output) -> String {
    let text =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let line = text.lines().map(str::trim).rfind(|line| !line.is_empty());
    line.map_or_else(|| output.status.to_string(), |line| line.chars().take(200).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_beside_a_signature_is_not_part_of_it() {
        let signature = "-----BEGIN SSH SIGNATURE-----\nU1NIU0lH+/A=\nQUJD\n-----END SSH SIGNATURE-----\n";
        assert!(is_one_signature(signature.as_bytes()));
        for other in [
            format!("{signature}see also\n"),
            format!("see also\n{signature}"),
            signature.repeat(2),
            signature.replace("QUJD", "see also"),
            signature.replace("QUJD", "\nQUJD"),
            signature.replace("QUJD", &"QUJD".repeat(MAX_SIGNATURE_BYTES as usize / 4)),
            signature.trim_end().to_owned(),
            String::new(),
        ] {
            assert!(!is_one_signature(other.as_bytes()), "{other:?}");
        }
    }
}
