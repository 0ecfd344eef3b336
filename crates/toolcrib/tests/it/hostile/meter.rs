//! What a reader takes of the processor, the memory and its budget, in a separate process. Tests of other crates include this file, too.

use std::process::Command;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

/// What one text may take of the memory, beyond what the process has.
const MEMORY: u64 = 256 * 1024 * 1024;

/// What one text may take of the processor.
const TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 3 } else { 1 });

/// The variable that says which reader a process is for.
const READER: &str = "TOOLCRIB_TEST_HOSTILE_READER";

/// Feeds a reader.
pub(crate) type Feed = fn(&Meter);

/// Measures what texts cost.
pub(crate) struct Meter {
    time: Duration,
    memory: u64,
}

impl Meter {
    /// For texts that are only a part of what is read: the same part of the limits.
    pub(crate) fn of_a_part(part: u32) -> Self {
        Meter {
            time: TIME / part,
            memory: MEMORY / u64::from(part),
        }
    }

    /// Has a text read within the limits.
    pub(crate) fn feed<T: std::fmt::Debug>(
        &self,
        name: &str,
        input: impl AsRef<[u8]>,
        most_steps: u64,
        read: impl FnOnce() -> T,
    ) {
        let bytes = input.as_ref().len();
        println!("{name}, {bytes} bytes");
        let before = Memory::now();
        // Resets the peak.
        std::fs::write("/proc/self/clear_refs", "5").unwrap();
        set_memory(Some(before.size + self.memory));
        toolcrib::testing::work_taken();
        let begun = clock_gettime(ClockId::ThreadCPUTime);
        let made = format!("{:?}", read());
        let took = clock_gettime(ClockId::ThreadCPUTime) - begun;
        set_memory(None);
        let (steps, kept) = toolcrib::testing::work_taken();
        let peak = Memory::now().peak.saturating_sub(before.resident);
        let took = Duration::new(
            took.tv_sec.try_into().unwrap(),
            took.tv_nsec.try_into().unwrap(),
        );
        println!(
            "    {took:?}, {} KB, {steps} steps, {kept} bytes: {made}",
            peak / 1024
        );
        assert!(took < self.time, "`{name}` of {bytes} bytes took {took:?}");
        assert!(
            steps <= most_steps,
            "`{name}` of {bytes} bytes took {steps} steps"
        );
    }
}

/// The memory of this process, in bytes.
struct Memory {
    size: u64,
    resident: u64,
    peak: u64,
}

impl Memory {
    fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.unwrap().split_whitespace().next().unwrap();
            number.parse::<u64>().unwrap() * 1024
        };
        Memory {
            size: field("VmSize:"),
            resident: field("VmRSS:"),
            peak: field("VmHWM:"),
        }
    }
}

/// Limits the memory of this process; none is as much as it may have at all.
fn set_memory(bytes: Option<u64>) {
    let maximum = getrlimit(Resource::As).maximum;
    let current = match (bytes, maximum) {
        (Some(bytes), Some(most)) => Some(bytes.min(most)),
        (bytes, most) => bytes.or(most),
    };
    setrlimit(Resource::As, Rlimit { current, maximum }).unwrap();
}

/// Feeds the reader that this process is for, if it is for one.
pub(crate) fn feed_the_one_asked_for(readers: &[(&str, Feed)]) {
    if let Ok(wanted) = std::env::var(READER) {
        let (_, feed) = readers.iter().find(|(name, _)| *name == wanted).unwrap();
        feed(&Meter::of_a_part(1));
    }
}

/// Feeds a reader in its own process.
pub(crate) fn in_its_own_process(reader: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "hostile::the_process_of_a_reader", "--nocapture"])
        .env(READER, reader)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "the reader of {reader} ended with {}: {complained}\nthe last texts:\n{}",
        output.status,
        said.lines().rev().take(5).collect::<Vec<_>>().join("\n")
    );
}
