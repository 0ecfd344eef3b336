//! curl's options, and what becomes of each: the one table.

/// What an option does here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Does {
    Request,
    Head,
    Get,
    Header,
    /// `-d` and its kin; `@` at the start of a value names a file, except for `--data-raw`.
    Data {
        reads_files: bool,
    },
    DataUrlencode,
    Json,
    User,
    Bearer,
    Agent,
    Referer,
    Cookie,
    Url,
    UrlQuery,
    Range,
    MaxTime,
    Retry,
    MaxFilesize,
    Globoff,
    /// Without effect on a tool, and why.
    Ignored(&'static str),
    /// Not supported, the reason, and the alternative.
    Refused(&'static str, &'static str),
}

/// One option.
#[derive(Debug)]
pub(super) struct Opt {
    pub(super) short: Option<char>,
    pub(super) long: &'static str,
    pub(super) takes_value: bool,
    pub(super) does: Does,
}

const PRINTING: Does = Does::Ignored("it is about what curl prints");
const TO_FILE: Does =
    Does::Ignored("a tool's value goes to its caller, and nothing is written to files");
const PROTOCOL: Does = Does::Ignored("tools speak HTTP/1.1, and TLS 1.2 or newer");
const RETRYING: Does = Does::Ignored(
    "how long to wait between attempts is not a tool's to say; `Retry-After` is honoured",
);
const REDIRECTS: Does =
    Does::Ignored("up to five redirections are followed, each within `allowedHosts`");
const NO_PROXY: Does = Does::Refused(
    "a tool cannot set a proxy",
    "the setting `network.proxy` names one for everything that leaves",
);
const NO_DETOUR: Does = Does::Refused(
    "a tool cannot choose whom a name leads to",
    "put the host that is meant into the URL",
);
const NO_CLIENT_CERTIFICATE: Does = Does::Refused(
    "client certificates are not supported",
    "use a token, a password or a signature if the server takes one",
);
const NO_SCHEME: Does = Does::Refused(
    "this way of signing in is not supported",
    "tools have bearer, basic, HMAC and OAuth2",
);
const NO_UPLOAD: Does = Does::Refused(
    "tools send no files",
    "put the text into the command, or make it an argument: -d '${text}'",
);
const NO_AUTHORITY: Does = Does::Refused(
    "a tool cannot choose whom to trust",
    "the setting `network.certificates` names further authorities",
);
const ONE_REQUEST: Does = Does::Refused(
    "one command makes one request",
    "make a tool of the first, and add the others to its `impl` by hand",
);

const fn opt(short: Option<char>, long: &'static str, takes_value: bool, does: Does) -> Opt {
    Opt {
        short,
        long,
        takes_value,
        does,
    }
}

const fn value(short: char, long: &'static str, does: Does) -> Opt {
    opt(Some(short), long, true, does)
}

const fn flag(short: char, long: &'static str, does: Does) -> Opt {
    opt(Some(short), long, false, does)
}

const fn long_value(long: &'static str, does: Does) -> Opt {
    opt(None, long, true, does)
}

const fn long_flag(long: &'static str, does: Does) -> Opt {
    opt(None, long, false, does)
}

/// Every option that is known.
pub(super) const OPTIONS: &[Opt] = &[
    value('X', "request", Does::Request),
    value('H', "header", Does::Header),
    value('d', "data", Does::Data { reads_files: true }),
    long_value("data-ascii", Does::Data { reads_files: true }),
    long_value("data-binary", Does::Data { reads_files: true }),
    long_value("data-raw", Does::Data { reads_files: false }),
    long_value("data-urlencode", Does::DataUrlencode),
    long_value("json", Does::Json),
    flag('G', "get", Does::Get),
    flag('I', "head", Does::Head),
    value('u', "user", Does::User),
    long_value("oauth2-bearer", Does::Bearer),
    value('A', "user-agent", Does::Agent),
    value('e', "referer", Does::Referer),
    value('b', "cookie", Does::Cookie),
    long_value("url", Does::Url),
    long_value("url-query", Does::UrlQuery),
    value('r', "range", Does::Range),
    value('m', "max-time", Does::MaxTime),
    long_value("retry", Does::Retry),
    long_value("max-filesize", Does::MaxFilesize),
    flag('g', "globoff", Does::Globoff),
    // Without effect.
    flag('L', "location", REDIRECTS),
    long_flag(
        "location-trusted",
        Does::Ignored(
            "redirections are followed, but credentials are never sent on to another origin",
        ),
    ),
    long_value("max-redirs", REDIRECTS),
    long_flag("post301", REDIRECTS),
    long_flag("post302", REDIRECTS),
    long_flag("post303", REDIRECTS),
    long_flag(
        "compressed",
        Does::Ignored("answers are unpacked without asking, up to the limits"),
    ),
    long_flag(
        "tr-encoding",
        Does::Ignored("answers are unpacked without asking, up to the limits"),
    ),
    flag('s', "silent", PRINTING),
    flag('S', "show-error", PRINTING),
    flag('v', "verbose", PRINTING),
    flag('i', "include", PRINTING),
    long_flag("show-headers", PRINTING),
    flag('#', "progress-bar", PRINTING),
    long_flag("progress-meter", PRINTING),
    flag('N', "no-buffer", PRINTING),
    long_flag("styled-output", PRINTING),
    value('w', "write-out", PRINTING),
    long_value("trace", PRINTING),
    long_value("trace-ascii", PRINTING),
    long_flag("trace-time", PRINTING),
    long_value("stderr", PRINTING),
    flag(
        'f',
        "fail",
        Does::Ignored("any status but 200 to 299 is an error; `successCodes` says which are none"),
    ),
    long_flag(
        "fail-with-body",
        Does::Ignored("any status but 200 to 299 is an error; `successCodes` says which are none"),
    ),
    long_flag("fail-early", PRINTING),
    value('o', "output", TO_FILE),
    flag('O', "remote-name", TO_FILE),
    flag('J', "remote-header-name", TO_FILE),
    long_value("output-dir", TO_FILE),
    long_flag("create-dirs", TO_FILE),
    flag('R', "remote-time", TO_FILE),
    value('D', "dump-header", TO_FILE),
    value('c', "cookie-jar", TO_FILE),
    value('C', "continue-at", TO_FILE),
    flag('j', "junk-session-cookies", TO_FILE),
    flag(
        'q',
        "disable",
        Does::Ignored("curl's own settings are not read"),
    ),
    flag('0', "http1.0", PROTOCOL),
    long_flag("http1.1", PROTOCOL),
    long_flag("http2", PROTOCOL),
    long_flag("http2-prior-knowledge", PROTOCOL),
    long_flag("http3", PROTOCOL),
    long_flag("http3-only", PROTOCOL),
    flag('1', "tlsv1", PROTOCOL),
    long_flag("tlsv1.0", PROTOCOL),
    long_flag("tlsv1.1", PROTOCOL),
    long_flag("tlsv1.2", PROTOCOL),
    long_flag("tlsv1.3", PROTOCOL),
    long_value("tls-max", PROTOCOL),
    long_flag("ssl-reqd", PROTOCOL),
    long_flag("alpn", PROTOCOL),
    long_flag("tcp-nodelay", PROTOCOL),
    long_flag("keepalive", PROTOCOL),
    long_value("keepalive-time", PROTOCOL),
    long_value("proto", PROTOCOL),
    long_value("proto-default", PROTOCOL),
    long_value("proto-redir", PROTOCOL),
    flag(
        '4',
        "ipv4",
        Does::Ignored("whichever address of a host is reached first is used"),
    ),
    flag(
        '6',
        "ipv6",
        Does::Ignored("whichever address of a host is reached first is used"),
    ),
    long_flag(
        "basic",
        Does::Ignored("it is what a user and a password mean anyway"),
    ),
    long_value(
        "connect-timeout",
        Does::Ignored("`timeoutMs` bounds the whole request, the connection included"),
    ),
    value(
        'y',
        "speed-time",
        Does::Ignored("`timeoutMs` bounds the whole request"),
    ),
    value(
        'Y',
        "speed-limit",
        Does::Ignored("`timeoutMs` bounds the whole request"),
    ),
    long_value("limit-rate", Does::Ignored("tools have no limit on speed")),
    long_value("retry-delay", RETRYING),
    long_value("retry-max-time", RETRYING),
    long_flag("retry-connrefused", RETRYING),
    long_flag("retry-all-errors", RETRYING),
    // Not supported.
    flag(
        'k',
        "insecure",
        Does::Refused(
            "nothing switches off the checking of certificates",
            "the setting `network.certificates` names an authority of your own",
        ),
    ),
    long_flag(
        "proxy-insecure",
        Does::Refused(
            "nothing switches off the checking of certificates",
            "the setting `network.certificates` names an authority of your own",
        ),
    ),
    value(
        'F',
        "form",
        Does::Refused(
            "bodies of several parts (multipart) are not supported",
            "use --json or --data-urlencode if the server takes one",
        ),
    ),
    long_value(
        "form-string",
        Does::Refused(
            "bodies of several parts (multipart) are not supported",
            "use --json or --data-urlencode if the server takes one",
        ),
    ),
    value('T', "upload-file", NO_UPLOAD),
    value('x', "proxy", NO_PROXY),
    value('U', "proxy-user", NO_PROXY),
    long_value("preproxy", NO_PROXY),
    long_value("noproxy", NO_PROXY),
    long_value("proxy-header", NO_PROXY),
    long_value("socks4", NO_PROXY),
    long_value("socks4a", NO_PROXY),
    long_value("socks5", NO_PROXY),
    long_value("socks5-hostname", NO_PROXY),
    flag('p', "proxytunnel", NO_PROXY),
    long_value("resolve", NO_DETOUR),
    long_value("connect-to", NO_DETOUR),
    long_value("interface", NO_DETOUR),
    long_value("unix-socket", NO_DETOUR),
    long_value("abstract-unix-socket", NO_DETOUR),
    long_value("dns-servers", NO_DETOUR),
    long_value("doh-url", NO_DETOUR),
    long_value("request-target", NO_DETOUR),
    long_flag("path-as-is", NO_DETOUR),
    value('E', "cert", NO_CLIENT_CERTIFICATE),
    long_value("key", NO_CLIENT_CERTIFICATE),
    long_value("cert-type", NO_CLIENT_CERTIFICATE),
    long_value("key-type", NO_CLIENT_CERTIFICATE),
    long_value("pass", NO_CLIENT_CERTIFICATE),
    long_value("cacert", NO_AUTHORITY),
    long_value("capath", NO_AUTHORITY),
    long_value("pinnedpubkey", NO_AUTHORITY),
    long_value("ciphers", NO_AUTHORITY),
    long_flag("digest", NO_SCHEME),
    long_flag("ntlm", NO_SCHEME),
    long_flag("negotiate", NO_SCHEME),
    long_flag("anyauth", NO_SCHEME),
    long_value(
        "aws-sigv4",
        Does::Refused(
            "AWS' signatures are not supported",
            "tools have bearer, basic, HMAC and OAuth2; a YAML tool can run `aws`",
        ),
    ),
    flag(
        'n',
        "netrc",
        Does::Refused("no file with passwords is read", "write -u USER:PASSWORD"),
    ),
    long_flag(
        "netrc-optional",
        Does::Refused("no file with passwords is read", "write -u USER:PASSWORD"),
    ),
    long_value(
        "netrc-file",
        Does::Refused("no file with passwords is read", "write -u USER:PASSWORD"),
    ),
    value(
        'K',
        "config",
        Does::Refused("no file of options is read", "write the options themselves"),
    ),
    long_value(
        "variable",
        Does::Refused("curl's own variables are not read", "write `${NAME}`"),
    ),
    flag(':', "next", ONE_REQUEST),
    flag('Z', "parallel", ONE_REQUEST),
    value(
        't',
        "telnet-option",
        Does::Refused("tools speak HTTP only", "leave it out"),
    ),
    value(
        'z',
        "time-cond",
        Does::Refused("a tool has nothing to compare times with", "leave it out"),
    ),
    value(
        'Q',
        "quote",
        Does::Refused("tools speak HTTP only", "leave it out"),
    ),
];

/// An option by its letter.
pub(super) fn by_letter(letter: char) -> Option<&'static Opt> {
    OPTIONS.iter().find(|option| option.short == Some(letter))
}

/// An option by its name, without dashes.
pub(super) fn by_name(name: &str) -> Option<&'static Opt> {
    OPTIONS.iter().find(|option| option.long == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_has_its_own_name_and_letter() {
        for (at, option) in OPTIONS.iter().enumerate() {
            for other in &OPTIONS[at + 1..] {
                assert_ne!(option.long, other.long);
                assert!(
                    option.short.is_none() || option.short != other.short,
                    "{option:?}"
                );
            }
        }
    }
}
