//! The ssh channel to an original disk: the host's `ssh` with a control session, which sends the events of the guest agent
//! (`ssh.bash`), and the tool's session, which prepares the instance and runs the tool. The guest is not trusted: once it has
//! the name of the instance, whatever a session sends or does not send is an event of the run, not an error.

use super::error::VmError;
use super::pidfd::{pidfd, wait_for};
use super::qmp::Lines;
use super::ssh_evidence::{EvidenceReader, PART};
use super::stream_file::TRUNCATED;
use mcc_base::OnFile;
use mcc_base::child_process::{self, Purpose};
use mcc_base::guest::{GuestEvent, GuestMessage, Job, MAX_LINE, Request};
use mcc_base::machine::Original;
use mcc_base::random;
use mcc_base::text::shell_quoted;
use mcc_base::{budgets, evidence};
use nix::sched::{CloneFlags, setns};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::thread;
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
/// After a lost session QMP must report within this time that the machine itself has ended.
const LOST_TIMEOUT: Duration = Duration::from_secs(2);
/// After the end of the tool's streams the control session must report within this time how the tool ended.
const EXIT_STATUS_TIMEOUT: Duration = Duration::from_secs(5);

/// The largest number of lines without a message that are accepted from control sessions while the guest boots: a login
/// prints some lines. A guest that prints without end could otherwise keep `Ssh::next` from returning.
const MAX_DROPPED_LINES: usize = 10_000;

/// Connections to a guest whose sshd does not answer yet.
struct Probing {
    /// They wait for the greeting of sshd.
    connections: Vec<TcpStream>,
    began: Instant,
    /// The time of the next connection.
    next: Instant,
}

impl Probing {
    /// The first connection is made at this time.
    fn new(next: Instant) -> Self {
        Self { connections: vec![], began: Instant::now(), next }
    }
}

/// The time until the next connection. A slow sshd can greet on the first one, so all are kept; their number grows with the
/// logarithm of the time, because a silent sshd must not use up the descriptors of the controller.
fn probe_interval(waited: Duration) -> Duration {
    PROBE_INTERVAL.max(waited / 16)
}

/// The ssh channel of one machine.
pub struct Ssh {
    login: Original,
    port: u16,
    /// The network of the machine, if the port is not in that of the controller.
    network: Option<Arc<File>>,
    /// The folder of the attempt.
    folder: PathBuf,
    /// A folder in the guest that exists only until both sessions have begun.
    guest_folder: String,
    stage: Stage,
    /// The connections that wait for the greeting of sshd.
    probing: Option<Probing>,
    /// When the control session ended or did not accept a script.
    lost: Option<Instant>,
    /// Standard output and standard error of the tool's session.
    outputs: Option<(OwnedFd, OwnedFd)>,
    /// The script that starts the tool.
    tool_script: Option<String>,
    nonce: String,
    /// The folder of files of evidence, if they are kept.
    evidence_folder: Option<String>,
    evidence: EvidenceReader,
    control: Option<(Child, Lines)>,
    /// The tool's session and its standard input.
    tool: Option<(Child, UnixStream)>,
    /// When the tool's streams ended.
    closed: Option<Instant>,
    /// Whether the log has the line about its truncation.
    log_truncated: bool,
    /// Lines that were dropped while the guest boots.
    dropped_lines: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Booting,
    /// The guest has the name of the instance.
    Preparing,
    Prepared,
    Starting,
    Examining,
    Ended,
    OutputComplete,
    /// The control session sends the files of evidence.
    SendingEvidence,
}

impl Ssh {
    /// `port` of 127.0.0.1, in the controller's network or this one, is forwarded to the guest's sshd; `folder` is the
    /// attempt's.
    ///
    /// # Errors
    /// The host gives no random bytes.
    pub fn new(
        login: &Original,
        (port, network): (u16, Option<File>),
        folder: &Path,
        outputs: (OwnedFd, OwnedFd),
    ) -> Result<Self, VmError> {
        Ok(Self {
            login: login.clone(),
            port,
            network: network.map(Arc::new),
            folder: folder.to_owned(),
            guest_folder: format!("/tmp/mcc-{}", random::hex_digits(16)?),
            stage: Stage::Booting,
            probing: Some(Probing::new(Instant::now())),
            lost: None,
            outputs: Some(outputs),
            tool_script: None,
            nonce: String::new(),
            evidence_folder: None,
            evidence: EvidenceReader::new(""),
            control: None,
            tool: None,
            closed: None,
            log_truncated: false,
            dropped_lines: 0,
        })
    }

    /// Executes a request in the guest. That the guest does not read it is found by `next`.
    ///
    /// # Errors
    /// A request out of order.
    pub fn send(&mut self, request: &Request) -> Result<(), VmError> {
        match (request, self.stage) {
            (Request::Ready, _) => {}
            (Request::Prepare(job), Stage::Booting) => {
                self.stage = Stage::Preparing;
                self.nonce.clone_from(&job.nonce);
                self.evidence_folder.clone_from(&job.evidence_folder);
                self.tool_script = Some(tool_script(job));
                self.send_to_control(&format!("nonce={}\nawait_preparation\n", shell_quoted(&job.nonce)));
                self.send_to_tool(&prepare_script(job));
            }
            (Request::Start, Stage::Prepared) => {
                self.stage = Stage::Starting;
                self.send_to_control("watch_tool\n");
            }
            (_, stage) => return Err(VmError::Agent(format!("a request out of order: {stage:?}"))),
        }
        Ok(())
    }

    /// Requests the files of evidence of the job; their end is `GuestEvent::EvidenceSent`. The tool must have ended.
    ///
    /// # Errors
    /// A request out of order.
    pub fn request_evidence(&mut self) -> Result<(), VmError> {
        match (&self.evidence_folder, self.stage) {
            (Some(folder), Stage::OutputComplete) => {
                let call = evidence_call(folder);
                self.stage = Stage::SendingEvidence;
                self.evidence = EvidenceReader::new(&self.nonce);
                self.send_to_control(&call);
                Ok(())
            }
            (_, stage) => Err(VmError::Agent(format!("a request of evidence out of order: {stage:?}"))),
        }
    }

    /// Returns the next message, without waiting. While the guest boots, lines that are not messages are dropped.
    ///
    /// # Errors
    /// The guest does not boot as it must (it sends too many such lines, for example), or a signal on the host ended an ssh process.
    pub fn next(&mut self) -> Result<Option<GuestMessage>, VmError> {
        if self.probing.is_some() && self.probe()? {
            self.open_control()?;
        }
        loop {
            if let Some(event) = self.evidence.next_event() {
                return Ok(Some(self.message(event)));
            }
            let Some((_, lines)) = &mut self.control else { break };
            match lines.next() {
                Ok(Some(line)) => {
                    if let Some(event) = self.receive(&line)? {
                        return Ok(Some(self.message(event)));
                    }
                }
                Ok(None) if lines.open => break,
                Ok(None) => self.on_control_end()?,
                Err(problem) if self.stage == Stage::Booting => return Err(VmError::Agent(problem)),
                Err(problem) => return Ok(self.refuse(&problem).map(|event| self.message(event))),
            }
        }
        if self.lost_at().is_some_and(|at| Instant::now() >= at) {
            if let Some(signal) = self.tool.as_mut().and_then(|(child, _)| signal_of(child)) {
                return Err(VmError::SshKilled(signal));
            }
            self.end_sessions("a session over ssh ended");
            return Ok(Some(self.message(GuestEvent::SessionLost)));
        }
        Ok(None)
    }

    /// Returns when the sessions count as lost, unless the guest reports the tool's end or QMP that of the machine.
    fn lost_at(&self) -> Option<Instant> {
        let no_status =
            self.closed.filter(|_| self.stage == Stage::Examining).map(|at| at + EXIT_STATUS_TIMEOUT);
        let lost = self.lost.filter(|_| self.stage != Stage::Booting).map(|at| at + LOST_TIMEOUT);
        lost.into_iter().chain(no_status).min()
    }

    /// Handles a line of the control session.
    fn receive(&mut self, line: &[u8]) -> Result<Option<GuestEvent>, VmError> {
        if self.stage == Stage::SendingEvidence {
            return Ok(self.evidence.read(line).err().and_then(|problem| self.refuse(&problem)));
        }
        let message = serde_json::from_slice::<GuestMessage>(line).ok();
        let event = message.filter(|message| message.nonce == self.nonce).map(|message| message.event);
        match (self.stage, &event) {
            (Stage::Booting, _) if line == b"open" && self.tool.is_none() => {
                self.open_tool()?;
                return Ok(None);
            }
            (Stage::Booting, Some(GuestEvent::Ready { .. })) if self.tool.is_some() => {}
            (Stage::Booting, _) if self.dropped_lines < MAX_DROPPED_LINES => {
                self.dropped_lines += 1;
                return Ok(None);
            }
            (Stage::Booting, _) => {
                return Err(VmError::Agent(format!(
                    "the control session sent more than {MAX_DROPPED_LINES} lines before the guest was ready; correct \
                     the login files of the disk"
                )));
            }
            (Stage::Preparing, Some(GuestEvent::Prepared { .. })) => self.stage = Stage::Prepared,
            (Stage::Preparing, Some(GuestEvent::Failed { reason, .. })) => {
                let reason = format!("the disk's programs did not prepare the instance: {reason}");
                self.end_sessions(&reason);
            }
            (Stage::Starting, Some(GuestEvent::Started)) => {
                self.stage = Stage::Examining;
                // The tool's session has its own copies.
                self.outputs = None;
                let script = self.tool_script.take().unwrap_or_default();
                self.send_to_tool(&script);
            }
            (Stage::Examining, Some(GuestEvent::Sample { .. })) => {}
            (Stage::Examining, Some(GuestEvent::Ended { .. })) => {
                self.stage = Stage::Ended;
                self.lost = None;
            }
            _ => return Ok(self.refuse(&String::from_utf8_lossy(&line[..line.len().min(200)]))),
        }
        Ok(event)
    }

    /// Ends the sessions because of a message that the control session does not send by itself. None while the guest boots.
    pub fn refuse(&mut self, message: &str) -> Option<GuestEvent> {
        (self.stage != Stage::Booting).then(|| {
            self.end_sessions(&format!("unexpected message of the control session: {message:?}"));
            GuestEvent::UnexpectedMessage
        })
    }

    /// Must be called when both streams of the tool have ended, with their lengths in bytes. Returns
    /// `OutputComplete` once, after the end of the tool.
    pub fn output_closed(&mut self, (stdout_bytes, stderr_bytes): (u64, u64)) -> Option<GuestEvent> {
        self.closed.get_or_insert_with(Instant::now);
        (self.stage == Stage::Ended).then(|| {
            self.stage = Stage::OutputComplete;
            GuestEvent::OutputComplete { stdout_bytes, stderr_bytes, written: vec![], search_cut: false }
        })
    }

    /// Returns the descriptors to wait for, and the time of the next check even if none is readable.
    pub fn poll_targets(&self) -> (Vec<BorrowedFd<'_>>, Option<Instant>) {
        let mut fds: Vec<_> = self.control.iter().map(|(_, lines)| lines.stream.as_fd()).collect();
        let mut look = self.lost_at();
        if let Some(Probing { connections, next, .. }) = &self.probing {
            fds.extend(connections.iter().map(|probe| probe.as_fd()));
            look = Some(*next);
        }
        (fds, look)
    }

    /// Ends every session.
    pub fn close(&mut self) {
        let tool = self.tool.take().map(|(child, _)| child);
        let control = self.control.take().map(|(child, _)| child);
        for mut child in tool.into_iter().chain(control) {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_file(self.folder.join(CONTROL_PATH));
        let full = fs::metadata(self.folder.join(LOG)).is_ok_and(|log| log.len() >= budgets::LOG);
        if full && !self.log_truncated {
            self.log_truncated = true;
            self.write_log(TRUNCATED);
        }
    }

    /// Ends every session before the guest reported a result; the cause goes to the log.
    fn end_sessions(&mut self, cause: &str) {
        self.close();
        let cause: String = cause.chars().take(1000).filter(|c| !c.is_control()).collect();
        self.write_log(&format!("mcc-harness: {cause}\n"));
        self.outputs = None;
        self.lost = None;
        self.stage = Stage::Ended;
    }

    /// The log only helps to find a cause, so errors are ignored.
    fn write_log(&self, line: &str) {
        let log = File::options().create(true).append(true).open(self.folder.join(LOG));
        let _ = log.and_then(|mut log| log.write_all(line.as_bytes()));
    }

    /// Makes a message of the host itself, with the nonce of the job.
    fn message(&self, event: GuestEvent) -> GuestMessage {
        GuestMessage { nonce: self.nonce.clone(), event }
    }

    /// Returns true when sshd has sent its greeting.
    fn probe(&mut self) -> Result<bool, VmError> {
        let Some(Probing { connections, began, next }) = &mut self.probing else { return Ok(false) };
        let mut greeted = false;
        connections.retain_mut(|probe| match probe.read(&mut [0; 4]) {
            Ok(0) => false,
            Ok(_) => {
                greeted = true;
                false
            }
            Err(error) => error.kind() == io::ErrorKind::WouldBlock,
        });
        if greeted {
            self.probing = None;
        } else if Instant::now() >= *next {
            // QEMU accepts the connection, so this does not wait for the guest.
            if let Ok(probe) = connect(self.port, self.network.as_deref()) {
                probe.set_nonblocking(true).map_err(VmError::Start)?;
                connections.push(probe);
            }
            *next = Instant::now() + probe_interval(began.elapsed());
        }
        Ok(greeted)
    }

    /// Opens the connection of the control session: as root if there is a key for root, otherwise as the tool's user.
    fn open_control(&mut self) -> Result<(), VmError> {
        let (host_side, peer_side) = UnixStream::pair().map_err(VmError::Start)?;
        host_side.set_nonblocking(true).map_err(VmError::Start)?;
        let log = File::options().create(true).append(true).open(self.folder.join(LOG));
        let log = log.on("create", self.folder.join(LOG))?;
        let mut ssh = match &self.login.root_key {
            Some(key) => self.command("root", key),
            None => {
                let mut ssh = self.command(&self.login.user, &self.login.key);
                ssh.arg("-M");
                ssh
            }
        };
        ssh.args(["-T", "exec bash -s"]);
        let peer_side = OwnedFd::from(peer_side);
        ssh.stdin(peer_side.try_clone().map_err(VmError::Start)?).stdout(peer_side).stderr(log);
        self.control = Some((spawn(&mut ssh, self.network.clone())?, Lines::new(host_side, MAX_LINE)));
        let folder = &self.guest_folder;
        self.send_to_control(&format!(
            "{SESSION}make_folder {folder}\n[ $EUID = 0 ] || ! {folder}/bash -c : || exec {folder}/bash -s\n\
             {SESSION}open {folder} {}\n",
            shell_quoted(&self.login.user)
        ));
        Ok(())
    }

    /// Opens the tool's session: over the connection of the control session if that has the same user.
    fn open_tool(&mut self) -> Result<(), VmError> {
        let (stdout, stderr) =
            self.outputs.as_ref().ok_or_else(|| VmError::Agent("a second session".to_owned()))?;
        let (stdout, stderr) =
            (stdout.try_clone().map_err(VmError::Start)?, stderr.try_clone().map_err(VmError::Start)?);
        let (host_side, stdin) = UnixStream::pair().map_err(VmError::Start)?;
        host_side.set_nonblocking(true).map_err(VmError::Start)?;
        let folder = &self.guest_folder;
        let mut ssh = self.command(&self.login.user, &self.login.key);
        // A file system without the right to execute programs has no usable copy of bash.
        ssh.args([
            "-T",
            &format!("{folder}/bash -c : 2> /dev/null && exec {folder}/bash -s || exec bash -s"),
        ]);
        ssh.stdin(OwnedFd::from(stdin)).stdout(stdout).stderr(stderr);
        let script = format!("exec 9> {folder}/end || exit\n");
        self.tool = Some((spawn(&mut ssh, self.network.clone())?, host_side));
        self.send_to_tool(&script);
        Ok(())
    }

    /// Handles the end of the control session. During boot it only means that sshd did not accept logins yet.
    fn on_control_end(&mut self) -> Result<(), VmError> {
        if let Some(signal) = self.control.as_mut().and_then(|(child, _)| signal_of(child)) {
            return Err(VmError::SshKilled(signal));
        }
        match self.stage {
            Stage::Booting => {
                self.close();
                self.lost = None;
                self.probing = Some(Probing::new(Instant::now() + PROBE_INTERVAL));
            }
            Stage::Ended | Stage::OutputComplete => self.close(),
            Stage::Preparing
            | Stage::Prepared
            | Stage::Starting
            | Stage::Examining
            | Stage::SendingEvidence => {
                if let Some((mut child, _)) = self.control.take() {
                    let _ = child.kill();
                    let _ = child.wait();
                }
                self.lost = Some(Instant::now());
            }
        }
        Ok(())
    }

    /// A script has a few KiB, far less than a socket's buffer.
    fn send_to_control(&mut self, script: &str) {
        let stream = self.control.as_ref().map(|(_, lines)| &lines.stream);
        let sent = stream.is_some_and(|mut stream| stream.write_all(script.as_bytes()).is_ok());
        if !sent {
            self.lost.get_or_insert_with(Instant::now);
        }
    }

    /// The control session detects the end of the tool's session.
    fn send_to_tool(&self, script: &str) {
        if let Some((_, stdin)) = &self.tool {
            let mut stdin = stdin;
            let _ = stdin.write_all(script.as_bytes());
        }
    }

    fn command(&self, user: &str, key: &Path) -> Command {
        let mut ssh = child_process::command("ssh", Purpose::Local);
        // With a key for root each session has its own connection.
        let socket = if self.login.root_key.is_some() { "none" } else { CONTROL_PATH };
        ssh.current_dir(&self.folder).args(["-F", "none", "-S", socket, "-E", LOG]);
        ssh.arg("-p").arg(self.port.to_string()).arg("-i").arg(key);
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
        ssh.arg(format!("{user}@127.0.0.1"));
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

/// Connects to a port of 127.0.0.1 in this network, or else in that of the controller.
fn connect(port: u16, network: Option<&File>) -> io::Result<TcpStream> {
    // It waits if another user of the host filled the queue of the port.
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let connect = || TcpStream::connect_timeout(&address, Duration::from_secs(1));
    let Some(network) = network else { return connect() };
    // A thread of its own, because a network is that of a thread.
    let inside =
        || setns(network, CloneFlags::CLONE_NEWNET).map_err(io::Error::from).and_then(|()| connect());
    thread::scope(|scope| scope.spawn(inside).join()).unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
}

/// Starts ssh, in this network if there is one. The kernel kills it, as QEMU, when the calling thread ends.
fn spawn(command: &mut Command, network: Option<Arc<File>>) -> Result<Child, VmError> {
    let controller = std::process::id();
    // SAFETY: between fork and exec only system calls are made, on data prepared before.
    unsafe {
        command.pre_exec(move || {
            // A session of its own: signals of the terminal go to the controller only.
            nix::unistd::setsid()?;
            if let Some(network) = &network {
                setns(network.as_fd(), CloneFlags::CLONE_NEWNET)?;
            }
            // ssh writes only logs to files: a write beyond this size fails, and ssh continues.
            signal(Signal::SIGXFSZ, SigHandler::SigIgn)?;
            let (_, hard) = getrlimit(Resource::RLIMIT_FSIZE)?;
            setrlimit(Resource::RLIMIT_FSIZE, budgets::LOG.min(hard), hard)?;
            let (_, hard) = getrlimit(Resource::RLIMIT_DATA)?;
            setrlimit(Resource::RLIMIT_DATA, budgets::SSH_MEMORY.min(hard), hard)?;
            nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
            if nix::unistd::getppid().as_raw() as u32 == controller {
                Ok(())
            } else {
                Err(io::ErrorKind::BrokenPipe.into())
            }
        });
    }
    command.spawn().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => VmError::NoSsh,
        _ => VmError::Start(error),
    })
}

/// Returns the script with which the tool's session prepares a job. It does not set the clock, credit the random pool or
/// mount disks: the user has no right to do so, and the image does it itself. No program gets the pipe of the session.
fn prepare_script(job: &Job) -> String {
    let mut script = "reason=$({ set -e\n".to_owned();
    for folder in &job.empty_folders {
        script += &format!("rm -rf {0}; mkdir -p {0}\n", shell_quoted(folder));
    }
    if let Some(unpack) = &job.unpack {
        let (archive, to) = (shell_quoted(&unpack.archive), shell_quoted(&unpack.to));
        script += &format!("tar -xzf {archive} -C {to} --strip-components=1\n");
    }
    script
        + "} 2>&1 < /dev/null 9>&-)\nreason=\"$? ${reason//[^[:print:]]/ }\"; echo \"${reason:0:1000}\" >&9\n"
}

/// Returns the script with which the tool's session runs the tool and sends its exit status to the control session.
fn tool_script(job: &Job) -> String {
    let exports: String =
        job.env.iter().map(|(name, value)| format!("export {name}={}\n", shell_quoted(value))).collect();
    let command: Vec<String> = job.command.iter().map(|word| shell_quoted(word)).collect();
    format!(
        "{exports}cd {} && {} < /dev/null 9>&-\necho $? >&9\nexit\n",
        shell_quoted(&job.cwd),
        command.join(" ")
    )
}

/// Returns the line with which the control session sends the files of evidence in a folder.
fn evidence_call(folder: &str) -> String {
    let (most, all) = (evidence::MAX_FILE + 1, budgets::EVIDENCE);
    format!("send_evidence {} {most} {all} {PART}\n", shell_quoted(folder))
}

/// The script of a session that only sends the files of evidence in a folder, with this nonce.
#[cfg(test)]
pub(super) fn evidence_script(nonce: &str, folder: &str) -> String {
    format!("{SESSION}nonce={nonce}\n{}", evidence_call(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_sshd_gets_few_connections_in_a_day() {
        let (mut waited, mut connections) = (Duration::ZERO, 0);
        while waited < Duration::from_secs(86_400) {
            waited += probe_interval(waited);
            connections += 1;
        }
        assert!((100..200).contains(&connections), "{connections}");
    }

    #[test]
    fn a_guest_that_prints_without_end_while_it_boots_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let output = || OwnedFd::from(tempfile::tempfile().unwrap());
        let (disk, nic) = Default::default();
        let login = Original { user: "mcc".into(), key: "key".into(), root_key: None, disk, nic };
        let mut ssh = Ssh::new(&login, (1, None), folder.path(), (output(), output())).unwrap();
        let (host_side, mut guest) = UnixStream::pair().unwrap();
        host_side.set_nonblocking(true).unwrap();
        let session = Command::new("sleep").arg("1000").spawn().unwrap();
        (ssh.probing, ssh.control) = (None, Some((session, Lines::new(host_side, MAX_LINE))));
        guest.write_all(b"Welcome\n\n").unwrap();
        assert!(ssh.next().unwrap().is_none(), "a login prints some lines");
        let flood = std::thread::spawn(move || {
            for _ in 0..MAX_DROPPED_LINES {
                let _ = guest.write_all(b"\n");
            }
            guest
        });
        let error = loop {
            match ssh.next() {
                Ok(message) => assert!(message.is_none() && (!flood.is_finished() || ssh.dropped_lines > 0)),
                Err(error) => break error.to_string(),
            }
            assert!(ssh.dropped_lines <= MAX_DROPPED_LINES);
        };
        assert!(error.contains("more than 10000 lines before the guest was ready"), "{error}");
        drop(flood.join());
    }
}
