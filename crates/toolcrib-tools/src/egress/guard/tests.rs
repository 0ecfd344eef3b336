//! Decisions, at the function that takes them: nothing is dialled here.

use super::*;

fn guard(allowed: &[&str], private: &[&str]) -> Guard {
    Guard {
        allowed: AllowedHosts::parse(allowed.iter().copied()).unwrap(),
        private: AllowedHosts::parse_names(private.iter().copied()).unwrap(),
    }
}

fn target(url: &str) -> Target {
    Target::parse(url).unwrap().1
}

fn refused(standing: HostVerdict) -> bool {
    matches!(standing, HostVerdict::Refused(_))
}

#[test]
fn what_is_never_reached_is_refused_before_anybody_is_asked() {
    let guard = guard(&["api.example.test"], &[]);
    for url in [
        "http://0x7f000001:9999/",
        "http://0x7f.1:9999/",
        "http://0177.0.0.1:9999/",
        "http://127.0.0.1.:9999/",
        "http://localhost.:9999/",
        "http://a.b.localhost/",
        "http://localhost.localdomain/",
        "http://ip6-localhost/",
        "http://[::1]:9999/",
        "http://[::ffff:7f00:1]:9999/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://①②⑦.0.0.1:9999/",
        "http://%31%32%37.0.0.1:9999/",
        "http://169.254.169.254/latest/meta-data/",
        "http://[fd00:ec2::254]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://100.100.100.200/",
        "http://metadata.google.internal/",
        "http://METADATA.google.internal./",
        "http://192.168.0.1/",
        "http://10.0.0.1/",
        "http://172.31.255.255/",
        "http://100.64.0.1/",
        "http://224.0.0.1/",
        "http://255.255.255.255/",
        "http://0.0.0.0/",
        "http://0/",
        "http://[::]/",
        "http://[fe80::1]/",
        "http://[ff02::1]/",
        "http://api.example.test:22/",
        "http://unknown.test:25/",
    ] {
        assert!(refused(guard.standing(&target(url))), "{url}");
        for reach in [Reach::Listed, Reach::ListedOr(target(url))] {
            assert!(guard.admit(&target(url), &reach).is_err(), "{url}");
        }
    }
}

#[test]
fn a_public_host_is_listed_or_a_matter_for_a_person() {
    let guard = guard(&["api.example.test"], &[]);
    for (url, expected) in [
        ("http://api.example.test/", HostVerdict::Listed),
        ("https://API.example.test./", HostVerdict::Listed),
        ("http://api.example.test:8080/", HostVerdict::Unlisted),
        (
            "http://evil.test/?x=api.example.test",
            HostVerdict::Unlisted,
        ),
        ("http://127.0.0.1.nip.io:9999/", HostVerdict::Unlisted),
        ("http://93.184.216.34/", HostVerdict::Unlisted),
        ("http://notlocalhost/", HostVerdict::Unlisted),
    ] {
        assert_eq!(guard.standing(&target(url)), expected, "{url}");
    }
}

#[test]
fn an_address_with_its_port_is_its_own_permission_and_no_other() {
    let guard = guard(
        &[
            "127.0.0.1:9999",
            "[::1]:9999",
            "localhost:8080",
            "192.168.0.7:80",
            "rebind.test:9999",
        ],
        &[],
    );
    for (url, expected) in [
        ("http://127.0.0.1:9999/", true),
        ("http://[::ffff:7f00:1]:9999/", true),
        ("http://[::1]:9999/", true),
        ("http://localhost:8080/", true),
        ("http://192.168.0.7/", true),
        ("http://127.0.0.1:9998/", false),
        ("http://127.0.0.2:9999/", false),
        ("http://localhost:9999/", false),
        ("http://x.localhost:8080/", false),
        ("http://192.168.0.7:443/", false),
        ("http://[64:ff9b::7f00:1]:9999/", false),
    ] {
        assert_eq!(
            guard.standing(&target(url)) == HostVerdict::Listed,
            expected,
            "{url}"
        );
    }
    // A name with a port is not a permission: its DNS could make it any address.
    let rebind = target("http://rebind.test:9999/");
    assert_eq!(guard.standing(&rebind), HostVerdict::Listed);
    for address in ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1"] {
        let addresses = ["93.184.216.34".parse().unwrap(), address.parse().unwrap()];
        assert!(
            guard
                .judge_addresses(&rebind, &Reach::Listed, &addresses)
                .is_err(),
            "{address}"
        );
        assert!(
            guard
                .judge_addresses(&rebind, &Reach::Listed, &addresses[..1])
                .is_ok()
        );
    }
}

#[test]
fn a_private_host_may_be_private_and_nothing_worse() {
    let guard = guard(
        &["intranet.test:8080"],
        &["intranet.test", "*.corp.test:80"],
    );
    for (url, address, expected) in [
        ("http://intranet.test:8080/", "10.1.2.3", true),
        ("http://intranet.test/", "fd12::1", true),
        ("http://intranet.test:8080/", "127.0.0.1", false),
        ("http://intranet.test:8080/", "169.254.169.254", false),
        ("http://intranet.test:8080/", "100.100.100.200", false),
        ("http://intranet.test:8080/", "fd00:ec2::254", false),
        ("http://intranet.test:8080/", "fe80::1", false),
        ("http://intranet.test:8080/", "0.0.0.0", false),
        ("http://a.corp.test/", "10.1.2.3", true),
        ("http://a.corp.test:8080/", "10.1.2.3", false),
        ("http://other.test/", "10.1.2.3", false),
    ] {
        let result = guard.judge_address(&target(url), &Reach::Listed, address.parse().unwrap());
        assert_eq!(result.is_ok(), expected, "{url} {address}");
    }
}

#[test]
fn what_the_operator_configured_is_reached_alone() {
    let guard = guard(&["api.example.test", "127.0.0.1:1234"], &[]);
    let search = Reach::Configured(target("http://127.0.0.1:8888/search"));
    assert!(
        guard
            .admit(&target("http://127.0.0.1:8888/x"), &search)
            .is_ok()
    );
    for url in [
        "http://127.0.0.1:8889/",
        "http://127.0.0.1:1234/",
        "http://api.example.test/",
        "https://127.0.0.1:8888/",
    ] {
        assert!(guard.admit(&target(url), &search).is_err(), "{url}");
    }
    let named = target("http://search.test/");
    let reach = Reach::Configured(named.clone());
    assert!(guard.admit(&named, &reach).is_ok());
    assert!(
        guard
            .judge_address(&named, &reach, "10.0.0.1".parse().unwrap())
            .is_err()
    );
    let local = target("http://localhost:8888/");
    assert!(
        guard
            .admit(&local, &Reach::Configured(local.clone()))
            .is_ok()
    );
}

#[test]
fn a_permitted_program_needs_the_setting_for_an_address_that_is_refused_otherwise() {
    let only = Reach::Only(
        AllowedHosts::parse(["127.0.0.1:9999", "example.test", "example.test:22"]).unwrap(),
    );
    let local = target("http://127.0.0.1:9999/");
    assert!(guard(&[], &[]).admit(&local, &only).is_err());
    assert!(guard(&["127.0.0.1:9999"], &[]).admit(&local, &only).is_ok());
    assert!(
        guard(&[], &[])
            .admit(&target("http://example.test/"), &only)
            .is_ok()
    );
    assert!(
        guard(&[], &[])
            .admit(&target("http://example.test:22/"), &only)
            .is_ok()
    );
    let listed = guard(&["api.example.test"], &[]);
    assert!(
        listed
            .admit(&target("http://api.example.test/"), &only)
            .is_err()
    );
}

#[test]
fn an_approved_host_is_reached_on_both_usual_ports_and_no_other_host_with_it() {
    let guard = guard(&[], &[]);
    let reach = Reach::ListedOr(target("http://public.test/x"));
    for (url, expected) in [
        ("http://public.test/y", true),
        ("https://public.test/", true),
        ("http://public.test:8080/", false),
        ("http://www.public.test/", false),
        ("http://localhost/", false),
    ] {
        assert_eq!(guard.admit(&target(url), &reach).is_ok(), expected, "{url}");
    }
    let other = Reach::ListedOr(target("http://public.test:8080/"));
    assert!(guard.admit(&target("http://public.test/"), &other).is_err());
}

#[test]
fn a_refusal_says_what_to_do_and_nothing_about_the_port() {
    let guard = guard(&[], &["a.test"]);
    let said = |url: &str| match guard.admit(&target(url), &Reach::Listed) {
        Err(error) => error.to_string(),
        Ok(()) => panic!("{url}"),
    };
    assert_eq!(
        said("http://a.test/secret?x=1"),
        "`a.test:80` is not a host that may be reached; `toolcrib config set --add allowedHosts a.test` allows it"
    );
    assert_eq!(
        said("http://127.0.0.1:9999/"),
        "`127.0.0.1:9999` is an address of this machine; `toolcrib config set --add allowedHosts 127.0.0.1:9999` allows it"
    );
}
