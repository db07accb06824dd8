//! Commits of OkayWAL, for `durlog bench commit`: bench/harness/okaywal.ts starts it.
//!
//! Arguments: a folder, and the bytes of an entry. Each line of the input holds a number of threads and a time in
//! milliseconds. Each thread commits entries until that time has passed. The answer is one line: the time that all
//! took in microseconds, and the time of each commit in nanoseconds.

use std::io::{self, BufRead, Write};
use std::thread;
use std::time::{Duration, Instant};

use okaywal::{Configuration, Entry, EntryId, LogManager, SegmentReader, WriteAheadLog};

#[derive(Debug)]
struct Discard;

impl LogManager for Discard {
    fn recover(&mut self, _entry: &mut Entry<'_>) -> io::Result<()> {
        Ok(())
    }
    fn checkpoint_to(&mut self, _last: EntryId, _entries: &mut SegmentReader, _log: &WriteAheadLog) -> io::Result<()> {
        Ok(())
    }
}

fn commit_until(log: &WriteAheadLog, entry: &[u8], end: Instant) -> io::Result<Vec<u128>> {
    let mut nanos = Vec::new();
    let mut before = Instant::now();
    while before < end {
        let mut writer = log.begin_entry()?;
        writer.write_chunk(entry)?;
        writer.commit()?;
        let after = Instant::now();
        nanos.push((after - before).as_nanos());
        before = after;
    }
    Ok(nanos)
}

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let entry = vec![b'x'; arguments[2].parse().expect("the bytes of an entry")];
    let log = Configuration::default_for(&arguments[1]).open(Discard)?;
    for line in io::stdin().lock().lines() {
        let numbers: Vec<u64> = line?.split(' ').map(|number| number.parse().expect("a number")).collect();
        let start = Instant::now();
        let end = start + Duration::from_millis(numbers[1]);
        let threads: Vec<_> = (0..numbers[0])
            .map(|_| {
                let (log, entry) = (log.clone(), entry.clone());
                thread::spawn(move || commit_until(&log, &entry, end))
            })
            .collect();
        let mut nanos = Vec::new();
        for thread in threads {
            nanos.extend(thread.join().expect("no thread panics")?);
        }
        let mut answer = start.elapsed().as_micros().to_string();
        for commit in nanos {
            answer += &format!(" {commit}");
        }
        let mut output = io::stdout().lock();
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    log.shutdown()
}
