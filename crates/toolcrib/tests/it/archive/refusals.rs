//! ZIP-004, ZIP-005 and their neighbours: what an archive may not be.

use toolcrib::store::archive::Archive;

use super::zips::{Entry, Zip, crc, deflated};
use super::{bundle, tool};

fn a_tool() -> Entry {
    Entry::packed("tools/a.json", tool("a", "v1").to_string())
}

/// What an archive is refused for.
fn refusal(zip: &Zip) -> String {
    match Archive::read(&zip.bytes()) {
        Ok(archive) => panic!("was read: {archive:?}"),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn refused(zip: Zip, why: &str) {
    let said = refusal(&zip);
    assert!(said.contains(why), "`{said}` does not say `{why}`");
}

#[test]
fn an_archive_that_is_in_order_is_read() {
    let zip = Zip::with([
        a_tool(),
        Entry::stored("tools/b.json", tool("b", "v1").to_string()),
    ]);
    let archive = Archive::read(&zip.bytes()).unwrap();
    assert_eq!(archive.contents.tools.len(), 2);
    assert!(
        Archive::read(&Zip::with([]).bytes())
            .unwrap()
            .contents
            .tools
            .is_empty()
    );
}

#[test]
fn names_that_are_none_of_a_bundle_are_refused() {
    for (name, why) in [
        ("../../etc/cron.d/x", "`..`"),
        ("/etc/passwd", "absolute"),
        ("tools\\..\\..\\x.json", "backslash"),
        ("C:\\x.json", "backslash"),
        ("C:/x.json", "colon"),
        ("tools/x\0.json", "control"),
        ("tools/x\u{1b}[2J.json", "control"),
        ("tools/x\u{202e}.json", "control"),
        ("tools/", "directory"),
        ("tools/inner.zip", "none of a bundle's"),
        ("tools/deep/x.json", "none of a bundle's"),
        ("secrets/KEY.json", "none of a bundle's"),
        ("state/flags.json", "none of a bundle's"),
        ("Bundle.json", "none of a bundle's"),
        ("", "empty"),
        (&format!("tools/{}.json", "a".repeat(256)), "255 bytes"),
    ] {
        refused(
            Zip::with([Entry::stored(name, "{}").with(|h| h.flags = 1 << 11)]),
            why,
        );
    }
    let latin = |header: &mut super::zips::Header| header.name = b"tools/caf\xe9.json".to_vec();
    refused(Zip::with([Entry::stored("x", "{}").with(latin)]), "UTF-8");
    refused(Zip::with([Entry::stored("tools/é.json", "{}")]), "UTF-8");
}

#[test]
fn names_in_messages_cannot_attack_a_terminal() {
    let said = refusal(&Zip::with([Entry::stored(
        "tools/\u{1b}]52;c;x\u{7}\n.json",
        "{}",
    )]));
    assert!(said.chars().all(|c| !c.is_control()), "{said:?}");
}

#[test]
fn two_entries_of_one_name_are_refused_whatever_case_or_composition() {
    let utf8 = |name: &str| {
        Entry::stored(name, tool("b", "v1").to_string()).with(|header| header.flags = 1 << 11)
    };
    for (one, other) in [
        ("tools/a.json", "tools/a.json"),
        ("tools/a.json", "tools/A.json"),
        ("tools/\u{e9}.json", "tools/e\u{301}.json"),
        ("tools/K.json", "tools/\u{212a}.json"),
    ] {
        refused(Zip::with([utf8(one), utf8(other)]), "one name");
    }
    let again = Entry::stored("bundle.json", bundle().to_string());
    refused(Zip::with([again]), "one name");
}

#[test]
fn links_directories_and_devices_are_refused_regardless_of_who_made_them() {
    for (mode, what) in [
        (0o120_777_u32, "symbolic link"),
        (0o040_755, "directory"),
        (0o020_644, "device"),
        (0o010_644, "device"),
        (0o140_644, "device"),
        (0o060_644, "device"),
        (0o104_755, "rights of its owner"),
    ] {
        refused(
            Zip::with([a_tool().but(|entry| entry.attributes = mode << 16)]),
            what,
        );
    }
    refused(
        Zip::with([a_tool().but(|entry| entry.attributes = 0x10)]),
        "directory",
    );
    // Python's `writestr` says no kind at all.
    let plain = a_tool().but(|entry| entry.attributes = 0o600 << 16);
    assert!(Archive::read(&Zip::with([plain]).bytes()).is_ok());
}

#[test]
fn encryption_other_methods_and_odd_flags_are_refused() {
    for flags in [1, 1 << 6, 1 << 13] {
        refused(
            Zip::with([a_tool().with(|header| header.flags |= flags)]),
            "encrypted",
        );
    }
    refused(
        Zip::with([a_tool().with(|header| header.flags |= 1 << 5)]),
        "flags 0x0020",
    );
    for method in [1, 6, 9, 12, 14, 93, 95, 99] {
        let why = format!("method {method}");
        refused(
            Zip::with([a_tool().with(|header| header.method = method)]),
            &why,
        );
    }
}

#[test]
fn extra_fields_that_change_an_entry_are_refused_and_times_are_not() {
    let extra = |id: u16, content: &[u8]| {
        let mut field = id.to_le_bytes().to_vec();
        field.extend((content.len() as u16).to_le_bytes());
        field.extend(content);
        field
    };
    // Another name, AES, a link of ASi, no one knows what.
    for id in [0x7075, 0x9901, 0x756e, 0x4242] {
        let zip = Zip::with([a_tool().with(|header| header.extra = extra(id, &[0; 12]))]);
        refused(zip, "extra field");
    }
    for broken in [vec![1], vec![0x55, 0x54, 9, 0, 1], vec![0x55, 0x54, 1]] {
        let zip = Zip::with([a_tool().with(|header| header.extra = broken.clone())]);
        refused(zip, "extra field");
    }
    // Where only one of the two headers has it, too.
    refused(
        Zip::with([a_tool().lying(|header| header.extra = extra(0x7075, &[0; 12]))]),
        "extra field",
    );
    let timed = a_tool().with(|header| header.extra = extra(0x5455, &[3, 0, 0, 0, 0]));
    assert!(Archive::read(&Zip::with([timed]).bytes()).is_ok());
}

#[test]
fn zip64_and_parts_are_refused() {
    let zip64 = a_tool().with(|header| {
        header.extra = [&[1, 0, 16, 0][..], &[0; 16]].concat();
    });
    refused(Zip::with([zip64]), "ZIP64");
    refused(
        Zip::with([a_tool().but(|entry| entry.central.unpacked = u32::MAX)]),
        "ZIP64",
    );
    refused(
        Zip::with([a_tool().but(|entry| entry.offset = Some(u32::MAX))]),
        "ZIP64",
    );
    refused(
        Zip::with([a_tool().but(|entry| entry.disk = 1)]),
        "several files",
    );
    for end in [[1, 0, 2, 2], [0, 1, 2, 2], [0, 0, 1, 2]] {
        refused(
            Zip::with([a_tool()]).but(|zip| zip.end = Some(end)),
            "several files",
        );
    }
}

#[test]
fn headers_that_do_not_agree_are_refused() {
    type Lie = (&'static str, fn(&mut super::zips::Header));
    let lies: [Lie; 6] = [
        ("name", |header| header.name = b"tools/b.json".to_vec()),
        ("set of flags", |header| header.flags = 1 << 11),
        ("method", |header| header.method = 0),
        ("size or CRC", |header| header.crc ^= 1),
        ("size or CRC", |header| header.packed += 1),
        ("size or CRC", |header| header.unpacked += 1),
    ];
    for (what, lie) in lies {
        refused(
            Zip::with([a_tool().lying(lie)]),
            &format!("says another {what}"),
        );
    }
    // Sizes of zero are for those that come behind the data.
    let zeros = |header: &mut super::zips::Header| {
        (header.crc, header.packed, header.unpacked) = (0, 0, 0);
    };
    refused(Zip::with([a_tool().lying(zeros)]), "says another size");
}

#[test]
fn sizes_behind_the_data_are_read_and_compared() {
    let content = tool("a", "v1").to_string();
    let streamed = |after: Vec<u8>| {
        let entry = Entry::packed("tools/a.json", &content).with(|header| header.flags = 1 << 3);
        let zeros = |header: &mut super::zips::Header| {
            (header.crc, header.packed, header.unpacked) = (0, 0, 0);
        };
        let next = Entry::stored("tools/b.json", tool("b", "v1").to_string());
        Zip::with([
            entry.lying(zeros).but(|entry| entry.after = after.clone()),
            next,
        ])
    };
    let sizes = |crc: u32| {
        let packed = deflated(content.as_bytes()).len() as u32;
        [crc, packed, content.len() as u32]
            .map(u32::to_le_bytes)
            .concat()
    };
    let right = sizes(crc(content.as_bytes()));
    let signed = [&0x0807_4b50_u32.to_le_bytes()[..], &right].concat();
    for after in [right, signed.clone()] {
        assert!(Archive::read(&streamed(after).bytes()).is_ok());
    }
    refused(streamed(sizes(1)), "behind its data");
    refused(streamed(Vec::new()), "behind its data");
    refused(streamed([signed, vec![0; 4]].concat()), "begins at byte");
}

#[test]
fn bytes_that_belong_to_nothing_are_refused() {
    let zip = || Zip::with([a_tool()]);
    refused(
        zip().but(|zip| zip.prefix = b"#!/bin/sh\n".to_vec()),
        "begins at byte",
    );
    refused(zip().but(|zip| zip.gap = vec![0; 7]), "begins at byte");
    refused(zip().but(|zip| zip.trailing = vec![0; 7]), "behind its end");
    refused(
        zip().but(|zip| zip.comment = b"hello".to_vec()),
        "behind its end",
    );
    refused(
        zip().but(|zip| zip.entries[0].after = vec![0; 3]),
        "begins at byte",
    );
    refused(
        Zip::with([a_tool().but(|entry| entry.comment = b"hello".to_vec())]),
        "has a comment",
    );
    // A whole archive as the comment of another one: which of the two is it?
    let other = Zip::with([]).bytes();
    refused(
        zip().but(|zip| zip.comment = other.clone()),
        "begins at byte",
    );
}

#[test]
fn entries_that_overlap_or_stand_in_another_order_are_refused() {
    // A quine's and a bomb's trick: many names for the same bytes.
    let first = Zip::with([]).bytes();
    let offset = first
        .windows(4)
        .position(|word| word == b"PK\x01\x02")
        .unwrap() as u32;
    let twice = Zip::with([
        a_tool(),
        Entry::stored("tools/b.json", tool("b", "v1").to_string())
            .but(|entry| entry.offset = Some(offset)),
    ]);
    refused(twice, "overlap");
    let swapped = Zip::with([a_tool()]).but(|zip| zip.order = Some(vec![1, 0]));
    refused(swapped, "another order");
    // One entry's data holds another entry: readers that look for signatures would find it.
    let inner = Zip::with([a_tool()]).bytes();
    let nested = Zip::with([Entry::stored("tools/a.json", inner)]);
    refused(nested, "cannot be read");
}

#[test]
fn damaged_data_is_refused() {
    let wrong = a_tool().with(|header| header.crc ^= 0x55);
    refused(Zip::with([wrong]), "CRC");
    let bytes = |entry: &mut Entry| entry.data = vec![0xff; entry.data.len()];
    refused(Zip::with([a_tool().but(bytes)]), "does not unpack");
    // More, or less, than it says.
    for lie in [-1_i32, 1] {
        let zip = Zip::with([a_tool().with(|header| {
            header.unpacked = header.unpacked.checked_add_signed(lie).unwrap();
        })]);
        refused(zip, "does not unpack");
    }
    // Bytes behind the end of the packed data.
    let padded = a_tool()
        .with(|header| header.packed += 2)
        .but(|entry| entry.data.extend([0, 0]));
    refused(Zip::with([padded]), "does not unpack");
    let stored = Entry::stored("tools/a.json", "{}").with(|header| header.unpacked = 1);
    refused(Zip::with([stored]), "does not unpack");
}

#[test]
fn bombs_are_refused_before_they_are_unpacked() {
    const MB: usize = 1024 * 1024;
    // ZIP-004: zeros, in 1/1000 of their size.
    let zeros = Entry::packed("tools/a.json", vec![0; 4 * MB]);
    refused(Zip::with([zeros.clone()]), "200 times its size");
    // It says that it is small, and is not.
    let lying = zeros.with(|header| header.unpacked = 1000);
    refused(Zip::with([lying]), "does not unpack to the 1000 bytes");
    let large = Entry::stored("tools/a.json", vec![b' '; 4 * MB + 1]);
    refused(Zip::with([large]), "at most 4194304");
    // Many that are small enough each.
    let one = Entry::packed("x", vec![b' '; MB - 1]);
    let many = |count: usize| {
        let named = |n: usize| {
            let name = format!("tools/{n}.json").into_bytes();
            one.clone().with(|header| header.name.clone_from(&name))
        };
        Zip::with((0..count).map(named))
    };
    refused(many(70), "at most 67108864");
    refused(many(20), "200 times its size");
    // 42.zip says sizes of 4 GB.
    let huge = a_tool().with(|header| header.unpacked = 0xffff_fffe);
    refused(Zip::with([huge]), "at most 4194304");
}

#[test]
fn too_many_entries_are_refused_by_their_number() {
    // ZIP-005, without making them: the number alone is enough.
    for count in [10_002, 65_535] {
        let zip = Zip::with([]).but(|zip| zip.end = Some([0, 0, count, count]));
        refused(zip, &format!("{count} or more entries"));
    }
    let zip = Zip::with([]).but(|zip| zip.end = Some([0, 0, 9000, 9000]));
    refused(zip, "directory is damaged");
    let zip = Zip::with([a_tool()]).but(|zip| zip.end = Some([0, 0, 1, 1]));
    refused(zip, "directory is damaged");
}

#[test]
fn json_that_would_fill_the_memory_is_refused() {
    let dense = format!("[{}0]", "0,".repeat(300_000));
    refused(
        Zip::with([Entry::stored("tools/a.json", dense)]),
        "more values",
    );
    let open = "[".repeat(30_000);
    let deep = format!("{{\"x\": {open}{}}}", "]".repeat(30_000));
    for content in [open, deep] {
        let zip = Zip::with([Entry::packed("tools/a.json", content)]);
        refused(zip, "cannot be read");
    }
}

#[test]
fn input_that_is_not_an_archive_is_refused() {
    for bytes in [&b""[..], b"PK", b"PK\x05\x06", b"{}", &[0; 100]] {
        let error = Archive::read(bytes).unwrap_err().to_string();
        assert!(error.contains("not a ZIP archive"), "{error}");
    }
    let large = vec![0; 64 * 1024 * 1024 + 1];
    let error = Archive::read(&large).unwrap_err().to_string();
    assert!(error.contains("larger than 64 MB"), "{error}");
    // An empty archive is one.
    let error = refusal(&Zip::default());
    assert!(error.contains("no `bundle.json`"), "{error}");
}
