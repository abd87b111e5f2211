//! The ssh channel to an original disk: one connection of the host's `ssh` to the disk's sshd. It has a control
//! session, which sends the events of the guest agent (`ssh.bash`), and the tool's session with the tool's output.

use super::error::VmError;
use super::process::{pidfd, wait_for};
use super::qmp::Lines;
use super::spec::Login;
use mcc_base::guest::{GuestEvent, GuestMessage, Job, MAX_LINE, Request};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SESSION: &str = include_str!("ssh.bash");

/// File in the attempt's folder with the error messages of ssh.
pub const LOG: &str = "ssh.log";
/// File in the attempt's folder with the host key of the disk.
const KNOWN_HOSTS: &str = "known_hosts";
/// The socket of the connection's sessions; relative, because a socket's path has at most 107 bytes.
const CONTROL_PATH: &str = "./ssh";

/// Interval of connection probes. QEMU's user network repeats a packet that the guest did not receive only after 6
/// seconds, so new connections are quicker.
const PROBE_INTERVAL: Duration = Duration::from_millis(500);
/// After a lost connection the guest's sshd must answer within this time.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// After the end of the tool's streams the control session must report within this time how the tool ended.
const EXIT_STATUS_TIMEOUT: Duration = Duration::from_secs(5);

/// The ssh channel of one machine.
pub struct Ssh {
    login: Login,
    port: u16,
    folder: PathBuf,
    state: State,
    /// Standard output and standard error of the tool's session.
    outputs: Option<(OwnedFd, OwnedFd)>,
    /// The script of the tool's session.
    tool_script: Option<String>,
    nonce: String,
    control: Option<(Child, Lines)>,
    tool: Option<Child>,
    /// When the tool's streams ended.
    closed: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Booting,
    Preparing,
    Examining,
    Ended,
    OutputComplete,
}

struct State {
    stage: Stage,
    /// Connections that wait for the greeting of sshd, and the time of the next probe.
    probing: Option<(Vec<TcpStream>, Instant)>,
    lost_since: Option<Instant>,
}

impl Ssh {
    /// `port` of 127.0.0.1 is forwarded to the guest's sshd; `folder` is the attempt's.
    pub fn new(login: &Login, port: u16, folder: &Path, outputs: (OwnedFd, OwnedFd)) -> Self {
        let probing = Some((vec![], Instant::now()));
        Self {
            login: login.clone(),
            port,
            folder: folder.to_owned(),
            state: State { stage: Stage::Booting, probing, lost_since: None },
            outputs: Some(outputs),
            tool_script: None,
            nonce: String::new(),
            control: None,
            tool: None,
            closed: None,
        }
    }

    /// Executes a request in the guest.
    pub fn send(&mut self, request: &Request) -> Result<(), VmError> {
        match request {
            Request::Ready => Ok(()),
            Request::Prepare(job) => {
                self.state.stage = Stage::Preparing;
                let script = prepare_script(job);
                self.nonce.clone_from(&job.nonce);
                self.tool_script = Some(tool_script(job));
                self.send_script(&script)
            }
            Request::Start => {
                let script = self.tool_script.take();
                let script = script.ok_or_else(|| VmError::Agent("start without a job".to_owned()))?;
                let (stdout, stderr) =
                    self.outputs.take().ok_or_else(|| VmError::Agent("a second job".to_owned()))?;
                let mut ssh = self.command();
                ssh.arg("-n").arg(self.address()).arg(format!("exec bash -c {}", quoted(&script)));
                ssh.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
                self.tool = Some(spawn(&mut ssh)?);
                self.state.stage = Stage::Examining;
                self.send_script("watch_tool\n")
            }
        }
    }

    /// Returns the next message, without waiting. Lines that are no messages are dropped.
    pub fn next(&mut self) -> Result<Option<GuestMessage>, VmError> {
        if self.state.probing.is_some() && self.probe()? {
            if self.state.lost_since.is_some() {
                // sshd still answers, so a process of the tool's user in the guest ended the sessions.
                self.state.stage = Stage::Ended;
                return Ok(Some(self.message(GuestEvent::SessionLost)));
            }
            self.open_session()?;
        }
        if let Some((_, lines)) = &mut self.control {
            while let Some(line) = lines.next().map_err(VmError::Agent)? {
                if let Ok(message) = serde_json::from_slice::<GuestMessage>(&line) {
                    if message.nonce == self.nonce
                        && matches!(message.event, GuestEvent::Ended { .. })
                        && self.state.stage == Stage::Examining
                    {
                        self.state.stage = Stage::Ended;
                    }
                    return Ok(Some(message));
                }
            }
            if !lines.open {
                if let Some(signal) = self.control.as_mut().and_then(|(child, _)| signal_of(child)) {
                    return Err(VmError::SshKilled(signal));
                }
                self.end(|ssh| ssh.control.take().map(|(child, _)| child));
                self.on_session_end()?;
            }
        }
        let killed = self.closed.is_some_and(|closed| closed.elapsed() >= EXIT_STATUS_TIMEOUT);
        if killed && self.state.stage == Stage::Examining {
            self.state.stage = Stage::Ended;
            return Ok(Some(self.message(GuestEvent::SessionLost)));
        }
        Ok(None)
    }

    /// Must be called when both streams of the tool have ended, with their lengths in bytes. Returns
    /// `OutputComplete` once, after the end of the tool.
    pub fn output_closed(&mut self, (stdout_bytes, stderr_bytes): (u64, u64)) -> Option<GuestEvent> {
        self.closed.get_or_insert_with(Instant::now);
        (self.state.stage == Stage::Ended).then(|| {
            self.state.stage = Stage::OutputComplete;
            GuestEvent::OutputComplete { stdout_bytes, stderr_bytes, written: vec![], search_cut: false }
        })
    }

    /// Returns the descriptors to wait for, and the time of the next check even if none is readable.
    pub fn poll_targets(&self) -> (Vec<BorrowedFd<'_>>, Option<Instant>) {
        let mut fds: Vec<_> = self.control.iter().map(|(_, lines)| lines.stream.as_fd()).collect();
        let mut look =
            self.closed.filter(|_| self.state.stage == Stage::Examining).map(|at| at + EXIT_STATUS_TIMEOUT);
        if let Some((probes, next)) = &self.state.probing {
            fds.extend(probes.iter().map(|probe| probe.as_fd()));
            look = Some(*next);
        }
        (fds, look)
    }

    /// Ends every session.
    pub fn close(&mut self) {
        self.end(|ssh| ssh.tool.take());
        self.end(|ssh| ssh.control.take().map(|(child, _)| child));
        let _ = fs::remove_file(self.folder.join(CONTROL_PATH));
    }

    fn end(&mut self, which: impl FnOnce(&mut Self) -> Option<Child>) {
        if let Some(mut child) = which(self) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Makes a message of the host itself, with the nonce of the job.
    fn message(&self, event: GuestEvent) -> GuestMessage {
        GuestMessage { nonce: self.nonce.clone(), event }
    }

    /// Returns true when sshd has sent its greeting.
    fn probe(&mut self) -> Result<bool, VmError> {
        let Some((probes, next)) = &mut self.state.probing else { return Ok(false) };
        if self.state.lost_since.is_some_and(|lost_since| lost_since.elapsed() >= RECONNECT_TIMEOUT) {
            return Err(VmError::Agent("the connection was lost and sshd no longer answers".to_owned()));
        }
        let mut greeted = false;
        probes.retain_mut(|probe| match probe.read(&mut [0; 4]) {
            Ok(0) => false,
            Ok(_) => {
                greeted = true;
                false
            }
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        });
        if greeted {
            self.state.probing = None;
        } else if Instant::now() >= *next {
            // QEMU accepts the connection, so this does not wait for the guest.
            if let Ok(probe) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)) {
                probe.set_nonblocking(true).map_err(VmError::Start)?;
                probes.push(probe);
            }
            *next = Instant::now() + PROBE_INTERVAL;
        }
        Ok(greeted)
    }

    /// Opens the connection and its control session.
    fn open_session(&mut self) -> Result<(), VmError> {
        let (host_side, peer_side) = UnixStream::pair().map_err(VmError::Start)?;
        host_side.set_nonblocking(true).map_err(VmError::Start)?;
        let log = File::options().create(true).append(true).open(self.folder.join(LOG));
        let log = log.map_err(|source| VmError::Io { path: self.folder.join(LOG), source })?;
        let mut ssh = self.command();
        ssh.args(["-M", "-T"]).arg(self.address()).arg("exec bash -s");
        let peer_side = OwnedFd::from(peer_side);
        ssh.stdin(peer_side.try_clone().map_err(VmError::Start)?).stdout(peer_side).stderr(log);
        self.control = Some((spawn(&mut ssh)?, Lines::new(host_side, MAX_LINE)));
        self.send_script(&format!("{SESSION}send_ready\n"))
    }

    /// Handles the end of the control session. During boot it only means that sshd did not accept logins yet.
    fn on_session_end(&mut self) -> Result<(), VmError> {
        let again = Some((vec![], Instant::now() + PROBE_INTERVAL));
        match self.state.stage {
            Stage::Booting => self.state.probing = again,
            Stage::Preparing => return Err(VmError::Agent("the connection was lost".to_owned())),
            Stage::Examining => {
                self.state.probing = again;
                self.state.lost_since = Some(Instant::now());
            }
            Stage::Ended | Stage::OutputComplete => {}
        }
        Ok(())
    }

    fn send_script(&mut self, script: &str) -> Result<(), VmError> {
        let Some((_, lines)) = &self.control else {
            return Err(VmError::Agent("the connection was lost".to_owned()));
        };
        // A few KiB, far less than a socket's buffer. The end of a session is detected where its output is read.
        match (&lines.stream).write_all(script.as_bytes()) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                Err(VmError::Agent("ssh does not read its input".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn address(&self) -> String {
        format!("{}@127.0.0.1", self.login.user)
    }

    fn command(&self) -> Command {
        let mut ssh = Command::new("ssh");
        ssh.current_dir(&self.folder).args(["-F", "none", "-S", CONTROL_PATH, "-E", LOG]);
        ssh.arg("-p").arg(self.port.to_string()).arg("-i").arg(&self.login.key);
        for option in [
            "BatchMode=yes",
            "IdentitiesOnly=yes",
            "IdentityAgent=none",
            "PreferredAuthentications=publickey",
            // The connection is a loopback port of the machine's QEMU. Disks of old contests support only ssh-rsa.
            "StrictHostKeyChecking=no",
            "HostKeyAlgorithms=+ssh-rsa",
            "PubkeyAcceptedAlgorithms=+ssh-rsa",
            "ClearAllForwardings=yes",
            "ForwardAgent=no",
            "EscapeChar=none",
            "LogLevel=ERROR",
        ] {
            ssh.args(["-o", option]);
        }
        ssh.arg("-o").arg(format!("UserKnownHostsFile={KNOWN_HOSTS}"));
        ssh
    }
}

impl Drop for Ssh {
    fn drop(&mut self) {
        self.close();
    }
}

/// An ssh process whose session ended in the guest exits within this time, unless the tool's session keeps it running.
const EXIT_TIMEOUT: Duration = Duration::from_millis(200);

/// Returns the signal that ended an ssh process on the host, if a signal did.
fn signal_of(ssh: &mut Child) -> Option<i32> {
    if let Some(process) = pidfd(ssh.id()) {
        wait_for(&process, EXIT_TIMEOUT);
    }
    ssh.try_wait().ok().flatten()?.signal()
}

/// Starts ssh. The kernel kills it, as QEMU, when the calling thread ends.
fn spawn(command: &mut Command) -> Result<Child, VmError> {
    let controller = std::process::id();
    // SAFETY: between fork and exec only system calls are made, on data prepared before.
    unsafe {
        command.pre_exec(move || {
            // A session of its own: signals of the terminal go to the controller only.
            nix::unistd::setsid()?;
            nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?;
            match nix::unistd::getppid().as_raw() as u32 == controller {
                true => Ok(()),
                false => Err(io::ErrorKind::BrokenPipe.into()),
            }
        });
    }
    command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => VmError::NoSsh,
        _ => VmError::Start(error),
    })
}

/// Returns the script that prepares a job in the control session. It does not set the clock, credit the random pool or
/// mount disks: the user has no right to do so, and the image does it itself.
fn prepare_script(job: &Job) -> String {
    let nonce = quoted(&job.nonce);
    let mut script = format!("nonce={nonce}\nreason=$(set -e; exec 2>&1\nmake_pipes {}\n", pipes(job));
    for folder in &job.empty_folders {
        script += &format!("rm -rf {0}; mkdir -p {0}\n", quoted(folder));
    }
    if let Some(unpack) = &job.unpack {
        let (archive, to) = (quoted(&unpack.archive), quoted(&unpack.to));
        script += &format!("tar -xzf {archive} -C {to} --strip-components=1\n");
    }
    script + &format!(")\nreport_preparation $? \"$reason\"; pipes={}\n", pipes(job))
}

/// Returns the script of the tool's session. It waits until the control session starts the tool.
fn tool_script(job: &Job) -> String {
    let pipes = pipes(job);
    let exports: String =
        job.env.iter().map(|(name, value)| format!("export {name}={}\n", quoted(value))).collect();
    let command: Vec<String> = job.command.iter().map(|word| quoted(word)).collect();
    format!(
        "{exports}cd {} || exit\nread -r go < {pipes}/go\n{} < /dev/null\necho \"$? $$\" > {pipes}/end\n",
        quoted(&job.cwd),
        command.join(" ")
    )
}

/// Returns the folder of the job's pipes in the guest, quoted.
fn pipes(job: &Job) -> String {
    quoted(&format!("/tmp/mcc-{}", job.nonce))
}

/// Quotes any text for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
