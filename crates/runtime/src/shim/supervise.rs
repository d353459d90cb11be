//! The life of a container after its start, as one loop over everything that can happen: output, questions, deadlines,
//! ends.

use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use lifecycle::moment::Moment;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use super::attach::{Attached, Sent};
use super::clients::{Asked, Client, Clients, Role};
use super::control::{Answer, Channel, FRAME_BYTES_MAX, Question, Status};
use super::execs::{EXECS_MAX, Execs};
use super::files::{self, Cause, Exit};
use super::launch::{self, Ends, Launched};
use super::logs::{Log, Stream};
use super::order::{Order, Stdin};
use super::process::{self, Ended, Handling, Process};
use super::stopping::{Standing, Stopper};
use super::{ShimError, control, rootfs};
use crate::cgroup::Cgroup;

/// After its end, a container's output is read for this long at most: a process that left the cgroup may hold it open.
const DRAIN_WITHIN: Duration = Duration::from_secs(1);
/// Input that waits for the container; those who are attached wait behind it.
const INPUT_BYTES_MAX: usize = FRAME_BYTES_MAX;

/// What became readable or writable.
#[derive(Clone, Copy, Debug)]
enum Source {
    Children,
    Listener,
    Container,
    Output(usize),
    Input,
    Client(u64),
    Attached(usize),
}

/// Everything a shim holds.
pub struct Supervisor {
    directory: PathBuf,
    order: Order,
    process: Process,
    cgroup: Cgroup,
    stopper: Stopper,
    log: Option<Log>,
    stdin: Option<OwnedFd>,
    input: Vec<u8>,
    outputs: Vec<(Stream, OwnedFd)>,
    clients: Clients,
    attached: Vec<Attached>,
    execs: Execs,
    children: OwnedFd,
    ended: Option<(Ended, Timestamp)>,
}

impl Supervisor {
    pub(super) fn new(
        directory: &Path,
        order: Order,
        launched: Launched,
        listener: UnixListener,
        children: OwnedFd,
    ) -> Result<Supervisor, ShimError> {
        let process = Process::of_child(launched.pid).map_err(ShimError::set_up("watch the container"))?;
        let log = order.log.as_deref().map(Log::open).transpose().map_err(ShimError::io("open the log"))?;
        let (stdin, outputs) = match launched.streams {
            Ends::Pipes { stdin, stdout, stderr } => (stdin, vec![(Stream::Stdout, stdout), (Stream::Stderr, stderr)]),
            Ends::Terminal(terminal) => {
                let input = terminal.try_clone().map_err(ShimError::io("share the terminal"))?;
                (Some(input), vec![(Stream::Stdout, terminal)])
            }
        };
        for descriptor in outputs.iter().map(|(_, output)| output).chain(&stdin) {
            rustix::fs::fcntl_setfl(descriptor, OFlags::NONBLOCK).map_err(ShimError::set_up("read without waiting"))?;
        }
        let cgroup_path = order.spec.linux().as_ref().and_then(|linux| linux.cgroups_path().clone());
        Ok(Supervisor {
            directory: directory.to_owned(),
            process,
            cgroup: Cgroup::new(cgroup_path.unwrap_or_default()),
            stopper: Stopper::new(order.stop_signal),
            log,
            stdin,
            input: Vec::new(),
            outputs,
            clients: Clients::new(listener),
            attached: Vec::new(),
            execs: Execs::default(),
            children,
            ended: None,
            order,
        })
    }

    /// Until the container has ended and everyone has been told.
    pub fn run(mut self) {
        // The kernel takes its time for this, and nobody needs to wait for it.
        rootfs::let_go(&self.order);
        let mut buffer = vec![0; FRAME_BYTES_MAX];
        while self.ended.is_none() {
            let timeout = self.stopper.wake_at().map(|at| at.since(passed()));
            for source in self.wait(timeout) {
                self.happened(source, &mut buffer);
            }
            if self.ended.is_none() && self.stopper.wake(passed(), &self.process, &self.cgroup) == Standing::Stuck {
                self.tell_stuck();
            }
        }
        self.finish(&mut buffer);
    }

    fn wait(&self, timeout: Option<Duration>) -> Vec<Source> {
        let mut sources = vec![(Source::Children, PollFd::new(&self.children, PollFlags::IN))];
        sources.push((Source::Container, PollFd::new(self.process.pidfd(), PollFlags::IN)));
        sources.extend(self.clients.listener().map(|it| (Source::Listener, PollFd::new(it, PollFlags::IN))));
        for (index, (_, output)) in self.outputs.iter().enumerate() {
            sources.push((Source::Output(index), PollFd::new(output, PollFlags::IN)));
        }
        if let Some(stdin) = self.stdin.as_ref().filter(|_| !self.input.is_empty()) {
            sources.push((Source::Input, PollFd::new(stdin, PollFlags::OUT)));
        }
        for client in &self.clients.all {
            sources.push((Source::Client(client.number), PollFd::new(client, PollFlags::IN)));
        }
        for (index, attached) in self.attached.iter().enumerate() {
            let mut flags = if self.input.is_empty() { PollFlags::IN } else { PollFlags::empty() };
            flags.set(PollFlags::OUT, attached.has_waiting());
            sources.push((Source::Attached(index), PollFd::new(&attached.stream, flags)));
        }
        let (names, mut descriptors): (Vec<Source>, Vec<PollFd<'_>>) = sources.into_iter().unzip();
        let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
        if poll(&mut descriptors, timeout.as_ref()).is_err() {
            return Vec::new();
        }
        let ready = names.into_iter().zip(&descriptors).filter(|(_, it)| !it.revents().is_empty());
        // Those behind are served first, so that the places of those before stay what they are.
        ready.map(|(name, _)| name).rev().collect()
    }

    fn happened(&mut self, source: Source, buffer: &mut [u8]) {
        match source {
            Source::Children | Source::Container => {
                process::drain(&self.children);
                self.reap();
            }
            Source::Listener => self.clients.accept(),
            Source::Output(index) => self.read_output(index, buffer),
            Source::Input => self.write_input(),
            Source::Client(number) => self.hear(number, buffer),
            Source::Attached(index) => self.hear_attached(index, buffer),
        }
    }

    fn reap(&mut self) {
        while let Some((pid, ended)) = process::reap() {
            if pid == self.process.pid.as_raw_nonzero().get() {
                self.ended = Some((ended, Timestamp::now()));
            } else if let Some((number, answer)) = self.execs.ended(pid, ended)
                && let Some(client) = self.clients.take(number)
            {
                let _ = client.tell(&answer, &[]);
            }
        }
    }

    /// Passes on what the container wrote; false at its end.
    fn read_output(&mut self, index: usize, buffer: &mut [u8]) {
        let (stream, output) = &self.outputs[index];
        let stream = *stream;
        match rustix::io::read(output, &mut *buffer) {
            Ok(read) if read > 0 => self.pass_on(stream, &buffer[..read]),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            // A terminal whose other side is closed gives an error instead of its end.
            Ok(_) | Err(_) => drop(self.outputs.remove(index)),
        }
    }

    fn pass_on(&mut self, stream: Stream, text: &[u8]) {
        if let Some(log) = &mut self.log {
            log.write(stream, text, Timestamp::now());
        }
        let channel = match stream {
            Stream::Stdout => Channel::Stdout,
            Stream::Stderr => Channel::Stderr,
        };
        self.attached.retain_mut(|attached| attached.tell(channel, text).is_ok());
    }

    fn write_input(&mut self) {
        let Some(stdin) = &self.stdin else { return self.input.clear() };
        match rustix::io::write(stdin, &self.input) {
            Ok(written) => drop(self.input.drain(..written)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Err(_) => {
                self.stdin = None;
                self.input.clear();
            }
        }
    }

    fn hear(&mut self, number: u64, buffer: &mut [u8]) {
        let Some(client) = self.clients.get(number) else { return };
        match client.receive(buffer) {
            Ok(None) => {}
            Ok(Some(asked)) => self.answer(number, asked),
            Err(error) => {
                // Who hangs up takes its interest with it, but not the stop that it asked for.
                if let Some(gone) =
                    self.clients.take(number).filter(|_| error.kind() == std::io::ErrorKind::InvalidData)
                {
                    let _ = gone.tell(&Answer::Refused { message: error.to_string() }, &[]);
                }
            }
        }
    }

    fn answer(&mut self, number: u64, asked: Asked) {
        let answer = match asked.question {
            Question::Status => Some(Answer::Status(Box::new(self.status()))),
            Question::Wait => self.keep(number, Role::WaitsForExit),
            Question::Stop { timeout_millis } => {
                let timeout = Duration::from_millis(timeout_millis);
                let standing = self.stopper.request(timeout, passed_rounded_up(), &self.process, &self.cgroup);
                self.keep(number, Role::WaitsForStop);
                if standing == Standing::Stuck {
                    self.tell_stuck();
                }
                None
            }
            Question::ReopenLog => Some(self.reopen_log()),
            Question::Exec { process, streams } => {
                return self.execute(number, &process, asked.descriptors, streams);
            }
            Question::KillExec { pid } => Some(match self.execs.kill(pid) {
                Ok(()) => Answer::Done,
                Err(message) => Answer::Refused { message },
            }),
            Question::Attach { streams } => return self.attach(number, streams),
        };
        if let Some(answer) = answer
            && let Some(client) = self.clients.take(number)
        {
            let _ = client.tell(&answer, &[]);
        }
    }

    /// Whoever waits for a stop that cannot succeed is told so.
    fn tell_stuck(&mut self) {
        let message = stuck(self.process.pid.as_raw_nonzero().get());
        self.clients.tell_all(Role::WaitsForStop, &Answer::Stuck { message });
    }

    fn keep(&mut self, number: u64, role: Role) -> Option<Answer> {
        if let Some(client) = self.clients.get(number) {
            client.role = role;
        }
        None
    }

    fn status(&self) -> Status {
        let handling = match self.process.handling(self.order.stop_signal) {
            Handling::Caught => "caught",
            Handling::Ignored => "ignored",
            Handling::Default { first_of_namespace: true } => "none: the kernel drops it",
            Handling::Default { first_of_namespace: false } => "default",
        };
        Status {
            pid: self.process.pid.as_raw_nonzero().get(),
            shim_pid: std::process::id(),
            stop_signal_handling: handling.to_owned(),
            stopping: self.stopper.view(passed(), Timestamp::now()),
            log_lost_bytes: self.log.as_ref().map(Log::lost_bytes).unwrap_or_default(),
        }
    }

    fn reopen_log(&mut self) -> Answer {
        match self.log.as_mut().map(Log::reopen) {
            None | Some(Ok(())) => Answer::Done,
            Some(Err(error)) => Answer::Refused { message: format!("cannot open the log anew: {error}") },
        }
    }

    fn execute(
        &mut self,
        number: u64,
        wanted: &libcontainer::oci_spec::runtime::Process,
        descriptors: Vec<OwnedFd>,
        streams: control::Streams,
    ) {
        let executed = if self.execs.is_full() {
            Err(format!("{EXECS_MAX} processes run in this container already"))
        } else {
            launch::execute(&self.directory, &self.order, wanted, descriptors, streams)
                .map_err(|error| error.to_string())
                .and_then(|it| {
                    Process::of_child(it.pid).map(|process| (it, process)).map_err(|error| error.to_string())
                })
        };
        match executed {
            Err(message) => {
                if let Some(client) = self.clients.take(number) {
                    let _ = client.tell(&Answer::Refused { message }, &[]);
                }
            }
            Ok((executed, process)) => {
                self.execs.add(process, number);
                let Some(client) = self.clients.get(number) else { return };
                client.role = Role::WaitsForExec;
                let terminal: Vec<_> = executed.terminal.iter().map(std::os::fd::AsFd::as_fd).collect();
                let _ = client.tell(&Answer::ExecStarted { pid: executed.pid }, &terminal);
            }
        }
    }

    fn attach(&mut self, number: u64, streams: control::Streams) {
        let Some(client) = self.clients.take(number) else { return };
        if client.tell(&Answer::Done, &[]).is_err() {
            return;
        }
        let (stream, arrived) = Client::into_stream(client);
        self.attached.push(Attached::new(stream, streams, arrived));
        let index = self.attached.len() - 1;
        let sent = self.attached[index].sent();
        self.take_sent(index, sent);
    }

    fn hear_attached(&mut self, index: usize, buffer: &mut [u8]) {
        let attached = &mut self.attached[index];
        let sent = attached.flush().and_then(|()| attached.receive(buffer));
        self.take_sent(index, sent);
    }

    fn take_sent(&mut self, index: usize, sent: std::io::Result<Vec<Sent>>) {
        let all = match sent {
            Ok(all) => all,
            Err(_) => {
                let gone = self.attached.remove(index);
                return self.input_ends_with(gone.sends_input());
            }
        };
        for one in all {
            match one {
                Sent::Input(text) if self.input.len() + text.len() <= 2 * INPUT_BYTES_MAX => self.input.extend(text),
                Sent::Input(_) => {}
                Sent::InputEnds => self.input_ends_with(true),
                Sent::Resize { columns, rows } => self.resize(columns, rows),
            }
        }
        self.write_input();
    }

    /// Input that is given once ends with the first who gave it; a terminal never ends.
    fn input_ends_with(&mut self, gave_input: bool) {
        if gave_input && self.order.stdin == Stdin::Once && !self.order.has_terminal() {
            self.write_input();
            self.stdin = None;
        }
    }

    fn resize(&self, columns: u16, rows: u16) {
        let size = rustix::termios::Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        if let Some((_, terminal)) = self.outputs.first().filter(|_| self.order.has_terminal()) {
            let _ = rustix::termios::tcsetwinsize(terminal.as_fd(), size);
        }
    }

    /// The container has ended: nothing of it stays, and everyone learns how it was.
    fn finish(&mut self, buffer: &mut [u8]) {
        let Some((ended, at)) = self.ended else { return };
        let out_of_memory = ended.code() != 0 && self.cgroup.out_of_memory_kills() > 0;
        // Where PID namespaces are shared, others may be left.
        self.cgroup.kill();
        self.drain_outputs(buffer);
        if let Some(log) = &mut self.log {
            log.finish(Timestamp::now());
        }
        let exit = Exit {
            code: ended.code(),
            signal: match ended {
                Ended::Signalled(signal) => Some(signal),
                Ended::Returned(_) => None,
            },
            finished_at: i64::try_from(at.as_nanosecond()).unwrap_or(i64::MAX),
            cause: if out_of_memory { Cause::OutOfMemory } else { Cause::Process },
            message: String::new(),
        };
        if let Err(error) = files::write(&self.directory, files::EXIT, &exit) {
            eprintln!("the end of the container cannot be written down: {error}");
        }
        let answer = Answer::Exited(exit);
        self.clients.tell_all(Role::WaitsForStop, &answer);
        self.clients.tell_all(Role::WaitsForExit, &answer);
        self.remove_cgroup();
    }

    fn drain_outputs(&mut self, buffer: &mut [u8]) {
        let until = passed() + DRAIN_WITHIN;
        while !self.outputs.is_empty() {
            let left = until.since(passed());
            if left.is_zero() {
                return;
            }
            let mut descriptors: Vec<PollFd<'_>> =
                self.outputs.iter().map(|(_, output)| PollFd::new(output, PollFlags::IN)).collect();
            let timeout = Timespec::try_from(left).ok();
            if !poll(&mut descriptors, timeout.as_ref()).is_ok_and(|ready| ready > 0) {
                return;
            }
            let ready: Vec<usize> =
                (0..descriptors.len()).filter(|index| !descriptors[*index].revents().is_empty()).collect();
            for index in ready.into_iter().rev() {
                self.read_output(index, buffer);
            }
        }
    }

    /// The last members leave the cgroup when they have been reaped.
    fn remove_cgroup(&mut self) {
        let until = passed() + DRAIN_WITHIN;
        while passed() < until {
            while process::reap().is_some() {}
            self.cgroup.remove();
            if !self.cgroup.exists() {
                return;
            }
            let mut children = [PollFd::new(&self.children, PollFlags::IN)];
            let _ = poll(&mut children, Some(&Timespec { tv_sec: 0, tv_nsec: 10_000_000 }));
            process::drain(&self.children);
        }
    }
}

/// What is known about a process that was killed and is still there.
fn stuck(pid: i32) -> String {
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let state = read("status").lines().find_map(|line| line.strip_prefix("State:").map(|it| it.trim().to_owned()));
    let waits_in = read("wchan");
    let state = state.unwrap_or_else(|| "unknown".to_owned());
    format!("process {pid} was killed and does not end: its state is {state}, and it waits in {waits_in:?}")
}

/// Time as deadlines count it: setting the clock does not move them.
fn passed() -> Moment {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    Moment::from_millis(now.tv_sec * 1_000 + now.tv_nsec / 1_000_000)
}

/// The same, rounded so that nobody gets less time than was promised.
fn passed_rounded_up() -> Moment {
    passed() + Duration::from_millis(1)
}
