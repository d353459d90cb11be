//! Starting a process in a container, with libcontainer behind one narrow door.
//!
//! libcontainer clones processes and allocates while it does so; it runs in a child of its own that is gone when the
//! container runs, so that the shim stays as small as it was. The container's processes then belong to the shim, which
//! is their reaper.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use libcontainer::container::builder::ContainerBuilder;
use libcontainer::oci_spec::runtime::{Process, Spec, UserBuilder};
use libcontainer::syscall::syscall::SyscallType;
use rustix::pipe::{PipeFlags, pipe_with};

use super::order::{Order, Stdin};
use super::workload::{Workload, number};
use super::{ShimError, control, process, rootfs};
use crate::seccomp::Filters;

/// What a reason is cut to.
const REASON_BYTES_MAX: u64 = 16 * 1024;

/// Where a terminal is received, in a container's directory.
const CONSOLE: &str = "console.sock";

/// A container whose program runs.
pub struct Launched {
    pub pid: i32,
    pub streams: Ends,
}

/// The shim's ends of a container's standard streams.
pub enum Ends {
    Pipes { stdin: Option<OwnedFd>, stdout: OwnedFd, stderr: OwnedFd },
    Terminal(OwnedFd),
}

/// What a new process is connected with.
enum Streams {
    Given { stdin: Option<OwnedFd>, stdout: OwnedFd, stderr: OwnedFd },
    Terminal { socket: PathBuf },
}

/// A process that was run in a container that was there.
pub struct Executed {
    pub pid: i32,
    pub terminal: Option<OwnedFd>,
}

/// Creates the container of an order and runs its program.
pub fn start(directory: &Path, order: &Order) -> Result<Launched, ShimError> {
    let bundle = rootfs::bundle(directory);
    let process = order.spec.process().clone().ok_or_else(|| ShimError::Order("it has no process".to_owned()))?;
    let filters = Filters::of(&order.spec).map_err(|error| ShimError::Start(error.to_string()))?;
    neutral(&order.spec, &process)?
        .save(bundle.join("config.json"))
        .map_err(|error| ShimError::Start(error.to_string()))?;
    let root = directory.join("oci");
    // A start that was broken off left it.
    let _ = std::fs::remove_dir_all(&root);
    std::fs::create_dir_all(&root).map_err(ShimError::io("make room for the state"))?;
    if order.has_terminal() {
        let console = Console::listen(directory)?;
        let streams = Streams::Terminal { socket: console.path.clone() };
        let pid = launch(directory, &process, &filters, streams, |builder| create(builder, &root, &bundle))?;
        return Ok(Launched { pid, streams: Ends::Terminal(console.receive()?) });
    }
    let (stdin_read, stdin_write) = match order.stdin {
        Stdin::Empty => (None, None),
        Stdin::Once | Stdin::Kept => pipe().map(|(read, write)| (Some(read), Some(write)))?,
    };
    let ((stdout, stdout_write), (stderr, stderr_write)) = (pipe()?, pipe()?);
    let streams = Streams::Given { stdin: stdin_read, stdout: stdout_write, stderr: stderr_write };
    let pid = launch(directory, &process, &filters, streams, |builder| create(builder, &root, &bundle))?;
    Ok(Launched { pid, streams: Ends::Pipes { stdin: stdin_write, stdout, stderr } })
}

/// Runs one more process in a container.
pub fn execute(
    directory: &Path,
    order: &Order,
    process: &Process,
    streams: Vec<OwnedFd>,
    which: control::Streams,
) -> Result<Executed, ShimError> {
    let filters = Filters::of(&order.spec).map_err(|error| ShimError::Start(error.to_string()))?;
    let root = directory.join("oci");
    let file = directory.join(format!("exec-{}.json", rustix::process::getpid().as_raw_nonzero()));
    let neutral = neutral_process(process)?;
    std::fs::write(&file, serde_json::to_vec(&neutral).unwrap_or_default())
        .map_err(ShimError::io("write a process"))?;
    let join = |builder: ContainerBuilder| -> Result<i32, String> {
        let builder = builder.with_root_path(&root).map_err(|error| error.to_string())?;
        let tenant = builder.as_tenant().with_detach(true).with_process(Some(&file)).with_ignore_paused(true);
        let pid = tenant.build().map_err(|error| reason(&error))?;
        Ok(pid.as_raw())
    };
    let executed = if process.terminal().unwrap_or_default() {
        let console = Console::listen(directory)?;
        let streams = Streams::Terminal { socket: console.path.clone() };
        let pid = launch(directory, process, &filters, streams, join)?;
        Executed { pid, terminal: Some(console.receive()?) }
    } else {
        let streams = given(streams, which)?;
        Executed { pid: launch(directory, process, &filters, streams, join)?, terminal: None }
    };
    let _ = std::fs::remove_file(&file);
    Ok(executed)
}

/// The streams that came along, in the order of their numbers; what did not come goes nowhere.
fn given(streams: Vec<OwnedFd>, which: control::Streams) -> Result<Streams, ShimError> {
    let mut streams = streams.into_iter();
    let mut next = |wanted: bool| wanted.then(|| streams.next()).flatten();
    let stdin = next(which.stdin);
    let (stdout, stderr) = (next(which.stdout), next(which.stderr));
    let nowhere = || File::options().write(true).open("/dev/null").map(OwnedFd::from);
    let or_nowhere = |stream: Option<OwnedFd>| stream.map_or_else(nowhere, Ok).map_err(ShimError::io("open /dev/null"));
    Ok(Streams::Given { stdin, stdout: or_nowhere(stdout)?, stderr: or_nowhere(stderr)? })
}

fn create(builder: ContainerBuilder, root: &Path, bundle: &Path) -> Result<i32, String> {
    let builder = builder.with_root_path(root).map_err(|error| error.to_string())?;
    let mut container =
        builder.as_init(bundle).with_systemd(false).with_detach(true).build().map_err(|error| reason(&error))?;
    container.start().map_err(|error| reason(&error))?;
    let pid = container.pid().ok_or_else(|| "the container has no process".to_owned())?;
    Ok(pid.as_raw())
}

/// Lets a child build the process, and waits until its program runs or cannot.
fn launch(
    directory: &Path,
    process: &Process,
    filters: &Filters,
    streams: Streams,
    build: impl FnOnce(ContainerBuilder) -> Result<i32, String>,
) -> Result<i32, ShimError> {
    let ((told, tell), (failed, failure)) = (pipe()?, pipe()?);
    let id = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let workload = Workload { process: process.clone(), filters: filters.clone(), failure: number(&failure) };
    // The child's ends move into the child: the parent's copies are closed when this returns.
    let child = process::fork(move || {
        let _open_until_the_program_runs = failure;
        let built = connected(ContainerBuilder::new(id, SyscallType::Linux).with_executor(workload), streams)
            .map_err(|error| error.to_string())
            .and_then(build);
        let said = serde_json::to_vec(&built).unwrap_or_default();
        let _ = rustix::io::write(&tell, &said);
        i32::from(built.is_err())
    });
    let child = child.map_err(ShimError::io("start a process"))?;
    let said = read_all(told);
    process::wait_for(child);
    let built: Result<i32, String> =
        serde_json::from_slice(&said).unwrap_or_else(|_| Err("the process that creates containers died".to_owned()));
    let pid = built.map_err(ShimError::Start)?;
    // The kernel closes the other end in the moment the program runs.
    let failure = read_all(failed);
    if failure.is_empty() {
        return Ok(pid);
    }
    process::wait_for(pid);
    Err(ShimError::Start(String::from_utf8_lossy(&failure).into_owned()))
}

fn connected(builder: ContainerBuilder, streams: Streams) -> std::io::Result<ContainerBuilder> {
    match streams {
        Streams::Given { stdin, stdout, stderr } => {
            let empty = || File::open("/dev/null").map(OwnedFd::from);
            let stdin = stdin.map_or_else(empty, Ok)?;
            Ok(builder.with_stdin(stdin).with_stdout(stdout).with_stderr(stderr))
        }
        Streams::Terminal { socket } => Ok(builder.with_console_socket(Some(socket))),
    }
}

/// The container without what [`Workload`] sets in the last moment: libcontainer would set it too early or not at all.
fn neutral(spec: &Spec, process: &Process) -> Result<Spec, ShimError> {
    let mut spec = spec.clone();
    spec.set_process(Some(neutral_process(process)?));
    if let Some(linux) = spec.linux_mut() {
        linux.set_seccomp(None);
    }
    Ok(spec)
}

fn neutral_process(process: &Process) -> Result<Process, ShimError> {
    let root = UserBuilder::default().uid(0_u32).gid(0_u32).build();
    let mut process = process.clone();
    process.set_user(root.map_err(|error| ShimError::Order(error.to_string()))?);
    process.set_capabilities(None);
    Ok(process)
}

/// Where libcontainer sends the end of a terminal that it made inside the container.
struct Console {
    listener: UnixListener,
    path: PathBuf,
}

impl Console {
    fn listen(directory: &Path) -> Result<Console, ShimError> {
        let what = "listen for the terminal";
        let path = directory.join(CONSOLE);
        let _ = std::fs::remove_file(&path);
        // The directory's own path may be too long for a socket; libcontainer gets around that by a link.
        let opened = File::open(directory).map_err(ShimError::io(what))?;
        let short = format!("/proc/self/fd/{}/{CONSOLE}", number(&opened));
        let listener = UnixListener::bind(short).map_err(ShimError::io(what))?;
        Ok(Console { listener, path })
    }

    fn receive(self) -> Result<OwnedFd, ShimError> {
        let failed = ShimError::io("receive the terminal");
        let received = self.listener.accept().and_then(|(stream, _)| first_descriptor(&stream));
        let _ = std::fs::remove_file(&self.path);
        received.map_err(failed)
    }
}

fn first_descriptor(stream: &UnixStream) -> std::io::Result<OwnedFd> {
    let (mut name, mut descriptors) = ([0; 256], Vec::new());
    control::receive(stream, &mut name, &mut descriptors)?;
    descriptors.into_iter().next().ok_or_else(|| std::io::Error::other("no terminal came"))
}

fn pipe() -> Result<(OwnedFd, OwnedFd), ShimError> {
    pipe_with(PipeFlags::CLOEXEC).map_err(ShimError::set_up("make a pipe"))
}

fn read_all(pipe: OwnedFd) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = File::from(pipe).take(REASON_BYTES_MAX).read_to_end(&mut bytes);
    bytes
}

/// The innermost cause says what a person can mend.
fn reason(error: &dyn std::error::Error) -> String {
    let mut texts = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if texts.last() != Some(&text) {
            texts.push(text);
        }
        next = cause.source();
    }
    texts.join(": ")
}
