//! Worker processes that acknowledge through a pipe, and a loop that kills them at random times.
//!
//! A worker prints one line for each thing that has been promised to it (a backup returned, a snapshot is durable). What
//! was printed before the kill must be there afterwards; what was not may be there whole, or not at all. The pipe lives in
//! the parent, so a line counts as soon as the worker's `write` has returned.

use std::io::{self, BufRead, BufReader};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::rng::Rng;

/// A running worker process.
#[derive(Debug)]
#[must_use = "a worker that is dropped is killed"]
pub struct Worker {
    child: Child,
    lines: Receiver<String>,
    received: Vec<String>,
}

impl Worker {
    /// Starts `command` with its standard output in a pipe. Its standard error is the parent's.
    ///
    /// # Errors
    /// When the program cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().expect("standard output is a pipe");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(output);
            let mut line = Vec::new();
            // A last line without its newline was cut by the kill: it promises nothing.
            while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) && line.ends_with(b"\n") {
                line.pop();
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    break;
                }
                line.clear();
            }
        });
        Ok(Self { child, lines, received: Vec::new() })
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the next line. None when the worker has ended or `wait` is over.
    pub fn next_line(&mut self, wait: Duration) -> Option<String> {
        match self.lines.recv_timeout(wait) {
            Ok(line) => {
                self.received.push(line.clone());
                Some(line)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => None,
        }
    }

    /// Waits until the worker ends by itself; kills it when `wait` is over.
    ///
    /// # Errors
    /// When the process cannot be waited for.
    pub fn finish(self, wait: Duration) -> io::Result<Ended> {
        let mut worker = self;
        let deadline = Instant::now() + wait;
        let status = loop {
            if let Some(status) = worker.child.try_wait()? {
                break status;
            }
            if Instant::now() >= deadline {
                worker.child.kill()?;
                break worker.child.wait()?;
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        Ok(worker.ended(status))
    }

    /// Sends SIGKILL and takes the remains. A worker that had already ended by itself is not reported as killed.
    ///
    /// # Errors
    /// When the process cannot be killed or waited for.
    pub fn kill(mut self) -> io::Result<Ended> {
        self.child.kill()?;
        let status = self.child.wait()?;
        Ok(self.ended(status))
    }

    fn ended(mut self, status: ExitStatus) -> Ended {
        // The reader ends when the pipe is empty and closed: everything that was written is in.
        let mut lines = std::mem::take(&mut self.received);
        lines.extend(self.lines.iter());
        // Signal 9: a worker that had ended by itself just before keeps its own exit status.
        Ended { lines, killed: status.signal() == Some(9), status }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a worker left behind.
#[derive(Debug, Clone)]
pub struct Ended {
    /// Its whole lines, in order.
    pub lines: Vec<String>,
    /// True when it was killed, false when it ended by itself.
    pub killed: bool,
    /// How it ended.
    pub status: ExitStatus,
}

/// One life of one of the workers.
#[derive(Debug, Clone)]
pub struct Life {
    /// Which of the concurrent workers, from 0.
    pub slot: usize,
    /// Unique in the loop: how many workers were started before.
    pub number: usize,
    /// What it left.
    pub ended: Ended,
}

/// Keeps `processes` workers running and kills one at random until `kills` have died.
#[derive(Debug, Clone, Copy)]
pub struct KillLoop {
    /// How many run at the same time.
    pub processes: usize,
    /// How many are killed in all.
    pub kills: usize,
    /// Shortest time between two kills.
    pub pause_ms_min: u64,
    /// Longest time between two kills.
    pub pause_ms_max: u64,
    /// Same seed, same victims and pauses (what the workers reach until then depends on the machine).
    pub seed: u64,
}

impl KillLoop {
    /// Runs the loop, then kills the rest. `command` makes the worker for a slot and number; `after_kill` looks at the
    /// victim's remains while the others go on, and ends the loop by an error.
    ///
    /// # Errors
    /// What `after_kill` returned, or why a process could not be started.
    pub fn run<E: From<io::Error>>(
        &self,
        mut command: impl FnMut(usize, usize) -> Command,
        mut after_kill: impl FnMut(&Life) -> Result<(), E>,
    ) -> Result<Vec<Life>, E> {
        let mut rng = Rng::new(self.seed);
        let mut started = 0;
        let mut start = |slot: usize| -> io::Result<(usize, Worker)> {
            let worker = Worker::spawn(&mut command(slot, started))?;
            started += 1;
            Ok((started - 1, worker))
        };
        let mut running = (0..self.processes).map(&mut start).collect::<io::Result<Vec<_>>>()?;
        let mut lives = Vec::new();
        let mut kills = 0;
        while kills < self.kills {
            std::thread::sleep(Duration::from_millis(
                rng.within(self.pause_ms_min as usize..=self.pause_ms_max as usize) as u64,
            ));
            let slot = rng.below(self.processes);
            // The victim is dead before its successor lives: a slot is never worked in by two at once.
            let (number, victim) = running.remove(slot);
            let life = Life { slot, number, ended: victim.kill()? };
            running.insert(slot, start(slot)?);
            kills += usize::from(life.ended.killed);
            after_kill(&life)?;
            // Workers never end by themselves: one that did has met an error, and the loop must not spin on it.
            let failed = !life.ended.killed;
            lives.push(life);
            if failed {
                break;
            }
        }
        for (slot, (number, worker)) in running.into_iter().enumerate() {
            lives.push(Life { slot, number, ended: worker.kill()? });
        }
        Ok(lives)
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::process::Command;
    use std::time::Duration;

    use super::{KillLoop, Worker};
    use crate::scratch::Scratch;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn whole_lines_count_and_a_cut_one_does_not() {
        let worker = Worker::spawn(&mut shell("echo one; echo two; printf thr")).unwrap();
        let ended = worker.finish(Duration::from_secs(10)).unwrap();
        assert_eq!(ended.lines, ["one", "two"]);
        assert!(!ended.killed && ended.status.success());
    }

    #[test]
    fn lines_that_came_before_the_kill_are_kept() {
        let mut worker = Worker::spawn(&mut shell("echo ready; exec sleep 60")).unwrap();
        assert_eq!(worker.next_line(Duration::from_secs(10)).as_deref(), Some("ready"));
        let ended = worker.kill().unwrap();
        assert_eq!(ended.lines, ["ready"]);
        assert!(ended.killed && !ended.status.success());
    }

    #[test]
    fn a_worker_that_hangs_is_killed_at_its_deadline() {
        let ended = Worker::spawn(&mut shell("exec sleep 60")).unwrap().finish(Duration::from_millis(50)).unwrap();
        assert!(ended.killed);
    }

    #[test]
    fn the_loop_kills_as_many_as_asked_and_starts_them_anew() {
        let kill_loop = KillLoop { processes: 3, kills: 8, pause_ms_min: 5, pause_ms_max: 15, seed: 1 };
        let mut seen = 0;
        let lives = kill_loop
            .run(
                |slot, number| shell(&format!("echo {slot} {number}; exec sleep 60")),
                |_| {
                    seen += 1;
                    Ok::<(), io::Error>(())
                },
            )
            .unwrap();
        assert_eq!((seen, lives.len()), (8, 11));
        for life in &lives {
            assert!(life.ended.killed);
            assert!(life.ended.lines.iter().all(|line| *line == format!("{} {}", life.slot, life.number)));
        }
        let mut numbers: Vec<usize> = lives.iter().map(|life| life.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..11).collect::<Vec<_>>());
    }

    #[test]
    fn a_worker_is_dead_before_its_successor_starts() {
        let scratch = Scratch::new("successor");
        let kill_loop = KillLoop { processes: 1, kills: 8, pause_ms_min: 30, pause_ms_max: 40, seed: 3 };
        let lives = kill_loop
            .run(
                |_, _| {
                    shell(&format!("exec 9>{}; flock -n 9 || echo two; exec sleep 60", scratch.join("lock").display()))
                },
                |_| Ok::<(), io::Error>(()),
            )
            .unwrap();
        assert_eq!(lives.len(), 9);
        assert!(lives.iter().all(|life| life.ended.lines.is_empty()), "{lives:?}");
    }

    #[test]
    fn a_worker_that_ends_by_itself_ends_the_loop() {
        let kill_loop = KillLoop { processes: 2, kills: 100, pause_ms_min: 30, pause_ms_max: 40, seed: 2 };
        let lives = kill_loop.run(|_, _| shell("echo gone"), |_| Ok::<(), io::Error>(())).unwrap();
        assert_eq!(lives.len(), 3, "one found dead, its successor and the other one");
        assert!(!lives[0].ended.killed && lives[0].ended.lines == ["gone"]);
    }
}
