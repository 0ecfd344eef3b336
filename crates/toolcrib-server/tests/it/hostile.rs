//! A command of curl that someone pasted, made to hurt: as the other readers in `crates/toolcrib/tests/it/hostile`.

#[path = "../../../toolcrib/tests/it/hostile/corpus.rs"]
#[expect(dead_code, reason = "most texts are for other readers")]
mod corpus;
#[path = "../../../toolcrib/tests/it/hostile/meter.rs"]
mod meter;

use meter::{Feed, Meter, in_its_own_process};

const READERS: &[(&str, Feed)] = &[("curl", curl)];

/// The steps that a command may take, besides sixteen for each byte.
const STEPS: u64 = 4_000_000;

fn curl(meter: &Meter) {
    for size in [400, 16 * 1024, 256 * 1024] {
        for (name, text) in corpus::curl(size) {
            meter.feed(name, &text, STEPS + 16 * text.len() as u64, || {
                toolcrib_server::curl::import(&text, "x", None, &[]).is_ok()
            });
        }
    }
}

/// Not a test by itself: what the others start.
#[test]
fn the_process_of_a_reader() {
    meter::feed_the_one_asked_for(READERS);
}

#[test]
fn a_command_of_curl_is_bounded() {
    in_its_own_process("curl");
}
