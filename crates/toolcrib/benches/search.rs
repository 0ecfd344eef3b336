//! What searching costs: `cargo bench -p toolcrib --bench search`.
//!
//! Fills an index with 100,000 tools whose names are put together from verbs, products, nouns and numbers and whose descriptions follow Zipf's law, and
//! prints how long building takes, percentiles by kind of query (every query another one, so that nothing is measured twice), how long single changes take
//! while segments are merged, and the memory. Times are the thread's own, so that a busy machine does not count, but nothing here ever waits; for changes,
//! which may wait for each other, the time on the wall is printed too. Targets: build in 1.5 s, search within 1 ms at p99, a change visible within 1 ms, 150 MB.

use std::hint::black_box;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use toolcrib::search::{Class, Document, Index};

const TARGET: Duration = Duration::from_millis(1);

fn main() {
    // `cargo test --benches` runs this too: once through is enough to see that it works.
    let quick = !std::env::args().any(|word| word == "--bench");
    let (tools, rounds, changes) = if quick {
        (2_000, 20, 50)
    } else {
        (100_000, 2_000, 20_000)
    };
    let mut maker = Maker::new();
    let documents: Vec<Document> = (0..tools).map(|id| maker.document(id)).collect();
    let text: usize = documents.iter().map(|tool| tool.description.len()).sum();
    println!(
        "{tools} tools, {} words to choose from, descriptions of {} bytes on average\n",
        maker.words.len(),
        text / documents.len()
    );

    let before = memory();
    let copies = documents.clone();
    let copied = memory();
    let start = thread_time();
    let index = Index::default();
    index.apply(&[], copies);
    let built = thread_time() - start;
    let size = index.size();
    println!(
        "build                     {:8.0} ms   target 1500 ms: {:.2}x",
        built.as_secs_f64() * 1e3,
        built.as_secs_f64() / 1.5
    );
    println!(
        "memory                    {:8.1} MB   target 150 MB (resident: {:.0} MB more than before, {:.0} MB of documents were given back)",
        size.bytes as f64 / 1e6,
        (memory() - before) / 1e6,
        (copied - before) / 1e6,
    );

    println!("\nqueries, µs                    p50      p99      max     hits   p99 / target");
    measure(&index, &mut maker, &documents, rounds);

    let (mut times, mut wall, mut searches) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..changes {
        let id = maker.below(tools as usize) as u64;
        let document = maker.document(id);
        let query = document.slug.clone();
        let come = vec![document];
        let (start, start_on_wall) = (thread_time(), Instant::now());
        index.apply(&[], come);
        times.push(thread_time() - start);
        wall.push(start_on_wall.elapsed());
        if number % 50 == 0 {
            let start = thread_time();
            let page = index.search(&query, None, 1, |found| found == id);
            searches.push(thread_time() - start);
            assert_eq!(page.hits.len(), 1, "a change is visible at once");
        }
    }
    println!("\nchanges while segments are merged, µs");
    row("one document replaced", &mut times, None);
    row("the same, on the wall", &mut wall, None);
    row("a search right after", &mut searches, None);
    println!("{:?}", index.size());

    println!("\nthe same queries after {changes} changes, µs");
    measure(&index, &mut maker, &documents, rounds);
}

/// Queries of each kind.
fn measure(index: &Index, maker: &mut Maker, documents: &[Document], rounds: usize) {
    let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
    let letters = || (b'a'..=b'z').map(|letter| char::from(letter).to_string());
    kinds.push(("one letter", letters().collect()));
    kinds.push(("two letters", {
        let pairs = letters().flat_map(|one| letters().map(move |two| format!("{one}{two}")));
        pairs.collect()
    }));
    kinds.push(("two starts of one letter", {
        let pairs = letters().flat_map(|one| letters().map(move |two| format!("{one} {two}")));
        pairs.collect()
    }));
    kinds.push(("the most frequent words", { maker.words[..200].to_vec() }));
    let mut of_kind = |name, make: &mut dyn FnMut(&mut Maker) -> String| {
        kinds.push((name, (0..rounds).map(|_| make(maker)).collect()));
    };
    of_kind("a word", &mut |maker| maker.word());
    of_kind("two words", &mut |maker| {
        format!("{} {}", maker.word(), maker.word())
    });
    of_kind("three words", &mut |maker| {
        format!("{} {} {}", maker.word(), maker.word(), maker.word())
    });
    of_kind("two frequent words", &mut |maker| {
        let (one, other) = (maker.below(40), maker.below(40));
        format!("{} {}", maker.words[one], maker.words[other])
    });
    of_kind("a name", &mut |maker| {
        documents[maker.below(documents.len())].name.clone()
    });
    of_kind("the start of a name", &mut |maker| {
        let name = &documents[maker.below(documents.len())].name;
        name[..maker.below(name.len()) + 1].to_owned()
    });
    for runes in [4, 5, 7, 8, 10, 14] {
        let name: &'static str = Box::leak(format!("misspelt, {runes} letters").into_boxed_str());
        of_kind(name, &mut |maker| {
            let word = maker.word_of(runes);
            maker.misspelt(&word, if runes < 8 { 1 } else { 2 })
        });
    }
    of_kind("two misspelt words", &mut |maker| {
        let (one, other) = (maker.word_of(9), maker.word_of(8));
        format!("{} {}", maker.misspelt(&one, 2), maker.misspelt(&other, 2))
    });
    of_kind("three misspelt words", &mut |maker| {
        let words = [maker.word_of(9), maker.word_of(8), maker.word_of(10)];
        words.map(|word| maker.misspelt(&word, 2)).join(" ")
    });
    of_kind("nothing that is there", &mut |maker| {
        let number = maker.below(1_000_000);
        format!("qqzzxxjj{number}")
    });
    for (name, queries) in kinds {
        let mut hits = 0;
        let mut times: Vec<Duration> = queries
            .iter()
            .map(|query| {
                let start = thread_time();
                let page = black_box(index.search(query, None, 50, |_| true));
                let taken = thread_time() - start;
                hits += page.hits.len();
                taken
            })
            .collect();
        row(name, &mut times, Some(hits as f64 / queries.len() as f64));
    }
    // Every page of a query with very many hits.
    let mut times = Vec::new();
    let mut after = None;
    loop {
        let start = thread_time();
        let page = index.search("s", after.as_ref(), 500, |_| true);
        times.push(thread_time() - start);
        assert!(page.hits.iter().all(|hit| hit.class <= Class::Fuzzy));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    row("pages of 500", &mut times, None);
}

fn row(name: &str, times: &mut [Duration], hits: Option<f64>) {
    times.sort_unstable();
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let at = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
    let hits = hits.map_or_else(String::new, |hits| format!("{hits:.1}"));
    println!(
        "{name:26} {:8.1} {:8.1} {:8.1} {hits:>8}   {:.2}x",
        micros(at(50)),
        micros(at(99)),
        micros(at(100)),
        at(99).as_secs_f64() / TARGET.as_secs_f64()
    );
}

/// How long this thread has run.
fn thread_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The memory that is resident, in bytes.
fn memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.unwrap_or_default() * 1024.0
}

/// Makes tools, always the same ones.
struct Maker {
    random: u64,
    /// The words of descriptions, the most frequent first.
    words: Vec<String>,
    names: Vec<String>,
}

const VERBS: &[&str] = &[
    "get",
    "list",
    "create",
    "delete",
    "update",
    "search",
    "send",
    "read",
    "write",
    "convert",
    "export",
    "import",
    "validate",
    "summarize",
    "translate",
    "fetch",
    "merge",
    "sync",
    "deploy",
    "archive",
    "approve",
    "cancel",
    "schedule",
    "render",
    "parse",
    "resize",
    "compress",
    "notify",
];
const NOUNS: &[&str] = &[
    "file",
    "files",
    "message",
    "issue",
    "invoice",
    "weather",
    "directory",
    "customer",
    "branch",
    "repository",
    "document",
    "calendar",
    "event",
    "report",
    "ticket",
    "order",
    "payment",
    "account",
    "image",
    "video",
    "channel",
    "comment",
    "release",
    "container",
    "database",
    "table",
    "record",
    "contact",
    "campaign",
    "subscription",
    "certificate",
    "deployment",
];

impl Maker {
    fn new() -> Self {
        let mut maker = Maker {
            random: 0x9e37_79b9_7f4a_7c15,
            words: Vec::new(),
            names: Vec::new(),
        };
        let real = VERBS.iter().chain(NOUNS).map(|word| (*word).to_owned());
        let common = "the a of and to in for with from by on as is or an that this it be are not given returns using each one all new name";
        maker.words = common.split(' ').map(str::to_owned).chain(real).collect();
        // Words of two to five syllables: many share their letters, as those of a language do.
        while maker.words.len() < 60_000 {
            let syllables = 2 + maker.below(4);
            let word: String = (0..syllables).map(|_| maker.syllable()).collect();
            maker.words.push(word);
        }
        maker.words.sort_by_key(String::len);
        // Short words are frequent ones, about.
        let mut at = 0;
        while at + 64 < maker.words.len() {
            let (one, other) = (at + maker.below(64), at + maker.below(64));
            maker.words.swap(one, other);
            at += 32;
        }
        maker.names = (0..3_000).map(|_| maker.word_of(6)).collect();
        maker
    }

    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn syllable(&mut self) -> String {
        const STARTS: &[&str] = &[
            "b", "c", "d", "f", "g", "h", "j", "l", "m", "n", "p", "r", "s", "t", "v", "st", "tr",
            "pr", "ch", "sh", "s", "t", "r", "c", "",
        ];
        const MIDDLES: &[&str] = &["a", "e", "i", "o", "u", "e", "a", "i", "io", "ea", "ou"];
        const ENDS: &[&str] = &["", "", "n", "r", "s", "t", "l", "nd", "ng", "m", "ck"];
        let parts = [STARTS, MIDDLES, ENDS].map(|parts| parts[self.below(parts.len())]);
        parts.concat()
    }

    /// A word of a description, by Zipf's law.
    fn word(&mut self) -> String {
        let uniform = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        let rank = (self.words.len() as f64).powf(uniform) as usize;
        self.words[rank.min(self.words.len()) - 1].clone()
    }

    fn word_of(&mut self, letters: usize) -> String {
        loop {
            let at = self.below(self.words.len());
            if self.words[at].len() == letters {
                return self.words[at].clone();
            }
        }
    }

    fn misspelt(&mut self, word: &str, edits: usize) -> String {
        let mut letters: Vec<u8> = word.bytes().collect();
        for _ in 0..edits {
            let at = self.below(letters.len() - 1);
            let letter = b'a' + self.below(26) as u8;
            match self.below(4) {
                0 => letters.insert(at, letter),
                1 if letters.len() > 4 => drop(letters.remove(at)),
                2 => letters.swap(at, at + 1),
                _ => letters[at] = letter,
            }
        }
        letters.into_iter().map(char::from).collect()
    }

    fn document(&mut self, id: u64) -> Document {
        let verb = VERBS[self.below(VERBS.len())];
        let noun = NOUNS[self.below(NOUNS.len())];
        let product = self.below(self.names.len());
        let mut slug = format!("{verb}-{}-{noun}", self.names[product]);
        if self.below(3) == 0 {
            slug = format!("{slug}-{}", self.below(100_000));
        }
        let words = 8 + self.below(18);
        let description: Vec<String> = (0..words).map(|_| self.word()).collect();
        let second = 1_700_000_000 + self.below(30_000_000) as i64;
        Document {
            id,
            name: slug.replace('-', "_"),
            title: format!("{verb} {noun}"),
            slug,
            aliases: Vec::new(),
            description: description.join(" "),
            tags: vec![self.names[product].clone()],
            keywords: vec![self.word(), self.word()],
            tie: format!("{}@v1", self.names[product]),
            modified: Timestamp::from_second(second).ok(),
        }
    }
}
