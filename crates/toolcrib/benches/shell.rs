//! What reading bash costs: `cargo bench -p toolcrib --bench shell`.
//!
//! Prints medians and ratios against a floor measured in the same run: cutting the text at blanks into separate words, which
//! any reader must do at least. The target for reading and judging an ordinary command is 100 µs; reading should be a tenth of it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use toolcrib::shell::{MAX_TEXT, read};

const TEXTS: &[(&str, &str)] = &[
    ("one command", "ls -la src"),
    ("ordinary line", "git status && cargo test -p x | head -5"),
    (
        "quotes and variables",
        "cd \"$HOME/x\" && grep -rn 'a b' --include='*.rs' src > \"$TMPDIR/out\" 2>&1",
    ),
    (
        "wrappers",
        "sudo -u x env A=1 timeout 5 sh -c 'find . -name \"*.o\" -exec rm -f {} +'",
    ),
    (
        "script",
        "set -euo pipefail\nfor f in src/*.rs; do\n  if [ -f \"$f\" ]; then wc -l \"$f\" | sort -n; else echo \"no $f\"; fi\ndone\ncat <<E > out\nhello $USER $(date)\nE\n",
    ),
    (
        "code",
        "python3 -c \"import json, sys; print(json.load(sys.stdin)['a'])\" < x.json | awk -F: '/a|b/ {print $1}' | sed 's/x/y/g'",
    ),
];

fn main() {
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let quick = !std::env::args().any(|word| word == "--bench");
    let (rounds, reads) = if quick { (2, 50) } else { (15, 5_000) };
    println!("medians of interleaved rounds\n");
    for (name, text) in TEXTS {
        let (mut floor, mut whole) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            floor.push(timed(reads, || {
                let words: Vec<String> = black_box(*text)
                    .split_whitespace()
                    .map(str::to_owned)
                    .collect();
                black_box(words);
            }));
            whole.push(timed(reads, || {
                black_box(read(black_box(text)));
            }));
        }
        row(name, median(whole), median(floor));
    }
    println!();
    for piece in ["x;", "(", "$(", "{a,", "env ", "\"", "<<E\n", "x>y "] {
        let text = piece.repeat(MAX_TEXT / piece.len());
        let time = timed(1, || {
            black_box(read(black_box(&text)));
        });
        let per_byte = time.as_secs_f64() * 1e9 / text.len() as f64;
        println!(
            "{:<24} {time:>10.2?}  {per_byte:>6.1} ns a byte",
            format!("{piece:?} to the limit")
        );
    }
}

fn timed(count: u32, mut work: impl FnMut()) -> Duration {
    let start = Instant::now();
    (0..count).for_each(|_| work());
    start.elapsed() / count
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn row(what: &str, time: Duration, floor: Duration) {
    println!(
        "{what:<24} {time:>10.2?}  {:>6.2}x",
        time.as_secs_f64() / floor.as_secs_f64()
    );
}
