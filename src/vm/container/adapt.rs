//! Adapts a container to the contest: the account `mcc`, the tool, the variables of `ENV`, the folders that the machine
//! mounts. What the contest cannot respect is refused or noted.

use crate::container::account::{self, HOME, USER};
use crate::container::entries::{Meta, is_kept};
use crate::container::error::ContainerError;
use crate::container::merged::Container;
use crate::container::tree::{Content, Id, NodeKind, ROOT};
use mcc_base::{FileError, OnFile};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const BENCHKIT: &str = "/home/mcc/BenchKit";
const HEAD: &[u8] = b"BenchKit_head.sh";
/// The tool's own start script, if a script that sets the variables has its place.
const TOOL_HEAD: &[u8] = b"BenchKit_head.container.sh";
/// Variables that the contest sets for each run; those of the container have no effect. Also all `BK_*`.
const OF_CONTEST: [&str; 4] = ["BIN_DIR", "HOME", "LOGNAME", "USER"];
/// Where programs are searched without a `PATH` of the container.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games";
/// The time of files that are made here, seconds since 1970: 2018-01-01, as on the other disks.
const TIME: u32 = 1_514_764_800;
/// The largest file of accounts, bytes.
const MAX_ACCOUNTS: u64 = 1 << 20;
/// The largest number of folders of `PATH`: each is looked for.
const MAX_PATH_FOLDERS: usize = 1000;
/// The largest number of extended attributes that are left out with a notice each.
const MAX_DROPPED: usize = 20;

impl Container {
    /// Adapts the container. `tool` is a folder of the host with the tool; without it the container has the tool.
    ///
    /// # Errors
    /// The container lacks something that the contest needs, or its settings cannot be respected; the error has the remedy.
    pub fn adapt(&mut self, tool: Option<&Path>) -> Result<(), ContainerError> {
        let owner = self.add_account()?;
        self.check_user(owner)?;
        self.add_folders()?;
        let benchkit = self.add_tool(tool)?;
        self.check_start(benchkit)?;
        self.add_environment(benchkit)?;
        if let Some(home) = self.tree.find_without_links(HOME) {
            self.own(home, owner);
        }
        self.note_the_rest();
        Ok(())
    }

    /// Adds the account `mcc` if it is missing. Returns its numbers.
    fn add_account(&mut self) -> Result<(u32, u32), ContainerError> {
        let passwd = self.text("/etc/passwd")?;
        let passwd = passwd.unwrap_or_else(|| "root:x:0:0:root:/root:/bin/sh\n".to_owned());
        let group = self.text("/etc/group")?.unwrap_or_else(|| "root:x:0:\n".to_owned());
        let shadow = self.text("/etc/shadow")?;
        let account = account::account(&passwd, &group, shadow.as_deref());
        let account = account.map_err(|reason| self.unsuitable(reason))?;
        for (path, text, earlier) in [
            ("/etc/passwd", account.passwd, Some(passwd)),
            ("/etc/group", account.group, Some(group)),
            ("/etc/shadow", account.shadow, shadow),
        ] {
            if let Some(text) = text.or_else(|| earlier.filter(|_| self.is_linked(path))) {
                self.replace(path, &text)?;
            }
        }
        Ok((account.uid, account.gid))
    }

    /// The text of a small file of the merged file system; None if there is none. Links are followed.
    ///
    /// # Errors
    /// It is not a file, is too large, or its content cannot be read.
    pub fn text(&self, path: &str) -> Result<Option<String>, ContainerError> {
        let Some(id) = self.tree.find(path) else { return Ok(None) };
        match &self.tree.node(id).kind {
            NodeKind::File(content) if content.size <= MAX_ACCOUNTS => {
                Ok(Some(String::from_utf8_lossy(&self.content(*content, MAX_ACCOUNTS)?).into_owned()))
            }
            _ => Err(self.unsuitable(format!("its {path} is not a file of at most {MAX_ACCOUNTS} bytes"))),
        }
    }

    /// Whether a path leads over a link to what it names. In the machine other file systems may be on the way.
    fn is_linked(&self, path: &str) -> bool {
        self.tree.find(path) != self.tree.find_without_links(path)
    }

    /// Replaces the content of a file in /etc, with its attributes, or makes the file. A link is replaced by a file.
    fn replace(&mut self, path: &str, text: &str) -> Result<(), ContainerError> {
        let content = self.keep(text.as_bytes())?;
        if let Some(id) = self.tree.find(path).filter(|_| !self.is_linked(path)) {
            self.tree.node_mut(id).kind = NodeKind::File(content);
            return Ok(());
        }
        let etc = self.folder(ROOT, "etc", 0o755)?;
        let name = path.rsplit('/').next().unwrap_or_default();
        self.tree.remove(etc, name.as_bytes());
        self.file(etc, name.as_bytes(), content, if path == "/etc/shadow" { 0o640 } else { 0o644 })
    }

    /// The contest runs every tool as `mcc`.
    fn check_user(&self, (uid, _): (u32, u32)) -> Result<(), ContainerError> {
        let settings = self.config.config().as_ref();
        let user = settings.and_then(|settings| settings.user().as_deref()).unwrap_or_default();
        let name = user.split(':').next().unwrap_or_default();
        if name.is_empty() || ["root", "0", USER].contains(&name) || *name == uid.to_string() {
            Ok(())
        } else {
            Err(self.unsuitable(format!(
                "its USER is {name:?}, and the contest runs tools as the user mcc: end the Dockerfile with `USER \
                 root` or `USER mcc`, and see that mcc may read the files of the tool"
            )))
        }
    }

    /// The folders on which the machine mounts file systems, and `/tmp`.
    fn add_folders(&mut self) -> Result<(), ContainerError> {
        for name in ["dev", "proc", "sys", "run"] {
            self.folder(ROOT, name, 0o755)?;
        }
        // mke2fs makes this folder on every disk, and fails if another kind of file has its place.
        if self.tree.find_without_links("lost+found").is_some_and(|id| self.tree.folder(id).is_none()) {
            return Err(self.unsuitable(
                "its /lost+found is not a folder, but every ext4 disk has a folder of this name: remove or rename it",
            ));
        }
        // A link to another folder is common.
        if self.tree.find("tmp").is_none_or(|id| self.tree.folder(id).is_none()) {
            self.folder(ROOT, "tmp", 0o1777)?;
        }
        Ok(())
    }

    /// The folder of this name, which is made if it is missing.
    fn folder(&mut self, parent: Id, name: &str, mode: u32) -> Result<Id, ContainerError> {
        let slot = self.tree.folder(parent).and_then(|folder| folder.slots.get(name.as_bytes())).copied();
        match slot {
            Some(slot) if self.tree.folder(slot.id).is_some() => Ok(slot.id),
            Some(_) => Err(self.unsuitable(format!(
                "{name:?} is not a folder in it, but the contest needs this folder (a link is not enough)"
            ))),
            None => {
                let meta = Meta { mode, mtime: TIME, ..Meta::default() };
                let made = self.tree.new_folder(parent, name.as_bytes(), meta, None);
                made.map_err(|reason| self.unsuitable(format!("{name}: {reason}")))
            }
        }
    }

    fn file(&mut self, parent: Id, name: &[u8], content: Content, mode: u32) -> Result<(), ContainerError> {
        self.node(parent, name, NodeKind::File(content), mode)
    }

    fn node(&mut self, parent: Id, name: &[u8], kind: NodeKind, mode: u32) -> Result<(), ContainerError> {
        let meta = Meta { mode, mtime: TIME, ..Meta::default() };
        let made = self.tree.new_node(parent, name, kind, meta);
        made.map(drop)
            .map_err(|reason| self.unsuitable(format!("{}: {reason}", String::from_utf8_lossy(name))))
    }

    /// Puts the tool into its place. Returns the folder.
    fn add_tool(&mut self, tool: Option<&Path>) -> Result<Id, ContainerError> {
        let home = self.folder(ROOT, "home", 0o755)?;
        let home = self.folder(home, USER, 0o755)?;
        if let Some(tool) = tool {
            if self.tree.remove(home, b"BenchKit").is_some() {
                self.notices.push(format!("{BENCHKIT} of the container is replaced by the folder of --tool"));
            }
            let benchkit = self.folder(home, "BenchKit", 0o755)?;
            self.copy(tool, benchkit)?;
        }
        let benchkit = self.folder(home, "BenchKit", 0o755)?;
        for name in ["bin", "INPUTS"] {
            self.folder(benchkit, name, 0o755)?;
        }
        Ok(benchkit)
    }

    /// Copies a folder of the host: files with the modes 755 or 644, and links as they are. Its owner may change it meanwhile, so
    /// no link is followed.
    fn copy(&mut self, from: &Path, to: Id) -> Result<(), ContainerError> {
        let mut folders = BTreeMap::from([(from.to_owned(), to)]);
        for entry in walkdir::WalkDir::new(from).min_depth(1).sort_by_file_name() {
            let entry = entry.map_err(|error| {
                let path = error.path().unwrap_or(from).to_owned();
                FileError { action: "read", path, source: error.into() }
            })?;
            let path = entry.path();
            let parent = path.parent().and_then(|parent| folders.get(parent)).copied().unwrap_or(to);
            let name = entry.file_name().as_bytes();
            if entry.file_type().is_dir() {
                let made = self.folder(parent, &String::from_utf8_lossy(name), 0o755)?;
                folders.insert(path.to_owned(), made);
            } else if entry.file_type().is_symlink() {
                let target = std::fs::read_link(path).on("read", path)?;
                self.node(parent, name, NodeKind::Link(target.as_os_str().as_bytes().to_vec()), 0o777)?;
            } else {
                let below = path.strip_prefix(from).unwrap_or(path);
                let (content, is_program) = self.keep_file(from, below)?;
                self.file(parent, name, content, if is_program { 0o755 } else { 0o644 })?;
            }
        }
        Ok(())
    }

    /// Checks that `BenchKit_head.sh` can be started: `/bin/bash -c BenchKit_head.sh`.
    fn check_start(&mut self, benchkit: Id) -> Result<(), ContainerError> {
        let head = self.tree.folder(benchkit).and_then(|folder| folder.slots.get(HEAD)).map(|slot| slot.id);
        let Some((head, content)) = head.and_then(|id| Some((id, self.file_content(id)?))) else {
            return Err(self.unsuitable(format!(
                "it has no file {BENCHKIT}/BenchKit_head.sh, with which the contest starts the tool: copy the tool there \
                 (COPY my-tool {BENCHKIT}), or give the tool's folder with --tool"
            )));
        };
        self.tree.node_mut(head).meta.mode = 0o755;
        match self.program("/bin/bash")? {
            Found::Program => {}
            Found::OtherProcessor => {
                return Err(self.unsuitable(
                    "its /bin/bash is for another processor: build it with --platform linux/amd64",
                ));
            }
            Found::Nothing => {
                return Err(self.unsuitable(
                    "it has no /bin/bash, with which the contest starts BenchKit_head.sh: install bash (`apt-get install \
                     bash`, `apk add bash`); a base without a shell, such as distroless, is not enough",
                ));
            }
        }
        self.check_interpreter(&self.content(content, 256)?)
    }

    /// Checks the program that the first line of a script names. A script without such a line is run by bash.
    fn check_interpreter(&self, script: &[u8]) -> Result<(), ContainerError> {
        let Some(line) = script.strip_prefix(b"#!") else { return Ok(()) };
        let line = String::from_utf8_lossy(line.split(|byte| *byte == b'\n').next().unwrap_or_default());
        if line.ends_with('\r') {
            return Err(self.unsuitable(
                "the lines of BenchKit_head.sh end as on Windows (CR LF): write them with LF only",
            ));
        }
        let mut words = line.split_whitespace().skip_while(|word| *word == "-S");
        let Some(interpreter) = words.next() else { return Ok(()) };
        let missing = |program: &str| {
            self.unsuitable(format!(
                "the first line of BenchKit_head.sh names {program}, which the container does not have: install it, or \
                 begin the script with #!/bin/bash"
            ))
        };
        if !matches!(self.program(interpreter)?, Found::Program) {
            return Err(missing(interpreter));
        }
        let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
        let Some(named) = named.filter(|_| interpreter.ends_with("/env")) else { return Ok(()) };
        let environment = self.environment()?;
        let path = environment.get("PATH").map_or(DEFAULT_PATH, String::as_str);
        let folders = path.split(':').count();
        if folders > MAX_PATH_FOLDERS {
            return Err(self.unsuitable(format!(
                "the PATH of its ENV has {folders} folders, more than {MAX_PATH_FOLDERS}: shorten it"
            )));
        }
        for folder in path.split(':').filter(|folder| folder.starts_with('/')) {
            if matches!(self.program(&format!("{folder}/{named}"))?, Found::Program) {
                return Ok(());
            }
        }
        Err(missing(named))
    }

    fn file_content(&self, id: Id) -> Option<Content> {
        match &self.tree.node(id).kind {
            NodeKind::File(content) => Some(*content),
            _ => None,
        }
    }

    /// Looks for a program.
    fn program(&self, path: &str) -> Result<Found, ContainerError> {
        let id = self.tree.find(path).filter(|id| self.tree.node(*id).meta.mode & 0o111 != 0);
        let Some(content) = id.and_then(|id| self.file_content(id)) else { return Ok(Found::Nothing) };
        let start = self.content(content, 20)?;
        // ELF: 64 bits, the lower byte first, the machine x86-64.
        let is_elf = start.starts_with(b"\x7fELF");
        Ok(if is_elf && (start.get(4..6) != Some(&[2, 1]) || start.get(18..20) != Some(&[62, 0])) {
            Found::OtherProcessor
        } else {
            Found::Program
        })
    }

    /// The variables of `ENV` that have an effect.
    fn environment(&self) -> Result<BTreeMap<String, String>, ContainerError> {
        let settings = self.config.config().as_ref();
        let lines = settings.and_then(|settings| settings.env().as_deref()).unwrap_or_default();
        let mut variables = BTreeMap::new();
        for line in lines {
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            let is_word = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
            if name.is_empty() || !is_word || name.as_bytes()[0].is_ascii_digit() || value.contains('\0') {
                return Err(self.unsuitable(format!(
                    "its ENV has {line:?}, which no shell can set: rename the variable"
                )));
            }
            variables.insert(name.to_owned(), value.to_owned());
        }
        Ok(variables)
    }

    /// Starts the tool through a script that sets the variables of `ENV`, so that they are on the disk itself and have the
    /// same effect over every channel.
    fn add_environment(&mut self, benchkit: Id) -> Result<(), ContainerError> {
        let (contest, own): (Vec<_>, Vec<_>) = self
            .environment()?
            .into_iter()
            .partition(|(name, _)| name.starts_with("BK_") || OF_CONTEST.contains(&name.as_str()));
        if !contest.is_empty() {
            let names: Vec<String> = contest.into_iter().map(|(name, _)| name).collect();
            self.notices
                .push(format!("the contest sets {} itself, so ENV has no effect on it", names.join(", ")));
        }
        if own.is_empty() {
            return Ok(());
        }
        if self.tree.folder(benchkit).is_some_and(|folder| folder.slots.contains_key(TOOL_HEAD)) {
            let name = String::from_utf8_lossy(TOOL_HEAD);
            return Err(
                self.unsuitable(format!("the tool has a file {name}, whose name is needed: rename the file"))
            );
        }
        let mut script = "#!/bin/bash\n# Made by `image build --container`: sets ENV of the container and starts the tool.\n"
            .to_owned();
        for (name, value) in own {
            script += &format!("export {name}='{}'\n", value.replace('\'', r"'\''"));
        }
        script += &format!("exec {BENCHKIT}/{} \"$@\"\n", String::from_utf8_lossy(TOOL_HEAD));
        let content = self.keep(script.as_bytes())?;
        self.tree.rename(benchkit, HEAD, TOOL_HEAD).map_err(|reason| self.unsuitable(reason))?;
        self.file(benchkit, HEAD, content, 0o755)
    }

    /// Gives all files below a node to the user, as on the other disks of tools.
    fn own(&mut self, id: Id, (uid, gid): (u32, u32)) {
        let meta = &mut self.tree.node_mut(id).meta;
        (meta.uid, meta.gid) = (uid, gid);
        let below: Vec<Id> = self
            .tree
            .folder(id)
            .into_iter()
            .flat_map(|folder| folder.slots.values().map(|slot| slot.id))
            .collect();
        for id in below {
            self.own(id, (uid, gid));
        }
    }

    /// Notes what the contest ignores.
    fn note_the_rest(&mut self) {
        let settings = self.config.config().as_ref();
        let list = |words: &Option<Vec<String>>| words.as_deref().unwrap_or_default().join(" ");
        let mut notices = vec![];
        if let Some(settings) = settings {
            for (word, text) in [("ENTRYPOINT", list(settings.entrypoint())), ("CMD", list(settings.cmd()))] {
                if !text.is_empty() {
                    notices.push(format!(
                        "{word} ({text}) is not executed: the contest starts {BENCHKIT}/BenchKit_head.sh"
                    ));
                }
            }
            let folder = settings.working_dir().as_deref().unwrap_or_default();
            if !["", "/"].contains(&folder) {
                notices.push(format!(
                    "WORKDIR ({folder}) has no effect: the contest starts the tool in {BENCHKIT}/execution, the folder of \
                     the unpacked instance"
                ));
            }
        }
        let mut dropped: BTreeMap<String, u64> = BTreeMap::new();
        for id in 0..self.tree.end() {
            self.tree.node_mut(id).meta.xattrs.retain(|(name, _)| {
                let keep = is_kept(name);
                if !keep {
                    *dropped.entry(String::from_utf8_lossy(name).into_owned()).or_default() += 1;
                }
                keep
            });
        }
        let further = dropped.len().saturating_sub(MAX_DROPPED);
        for (name, files) in dropped.into_iter().take(MAX_DROPPED) {
            notices.push(format!("the extended attribute {name:?} is left out (files with it: {files})"));
        }
        if further > 0 {
            notices.push(format!("{further} further extended attributes are left out"));
        }
        self.notices.extend(notices);
    }
}

/// What is at the path of a program.
enum Found {
    Program,
    OtherProcessor,
    Nothing,
}
