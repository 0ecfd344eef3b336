//! `git_push` over HTTP to a real `git http-backend` on loopback, with a login.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::json;
use tempfile::TempDir;
use toolcrib::builtin::{BuiltinOptions, GitSettings, SandboxOptions, SandboxSettings};
use toolcrib::egress::{AllowedHosts, Egress, EgressOptions};
use toolcrib::secret::{Binding, SecretName, SecretStore};
use toolcrib::{ErrorCode, Secret};

use super::{Repo, agreeing, has_git, message};
use crate::tools::code;

const TOKEN: &str = "token-SENTINEL-91c";

/// A server of git repositories: `git http-backend` behind Python's own HTTP server, which wants `me` and the token.
const SERVER: &str = r#"
import base64, http.server, os, subprocess, sys
root, token = sys.argv[1], sys.argv[2]
wanted = {'Basic ' + base64.b64encode(('%s:%s' % (user, token)).encode()).decode() for user in ('me', 'git')}
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *args): pass
    def handle_any(self):
        path, _, query = self.path.partition('?')
        if self.headers.get('Transfer-Encoding') == 'chunked':
            body = b''
            while True:
                size = int(self.rfile.readline(), 16)
                body += self.rfile.read(size); self.rfile.readline()
                if size == 0: break
        else:
            body = self.rfile.read(int(self.headers.get('Content-Length') or 0))
        if self.headers.get('Authorization') not in wanted:
            self.send_response(401); self.send_header('WWW-Authenticate', 'Basic realm="x"')
            self.send_header('Content-Length', '0'); self.end_headers(); return
        env = dict(os.environ, GIT_PROJECT_ROOT=root, GIT_HTTP_EXPORT_ALL='1', PATH_INFO=path, QUERY_STRING=query,
            REQUEST_METHOD=self.command, CONTENT_TYPE=self.headers.get('Content-Type') or '', REMOTE_USER='me', REMOTE_ADDR='127.0.0.1',
            CONTENT_LENGTH=str(len(body)), HTTP_CONTENT_ENCODING=self.headers.get('Content-Encoding') or '')
        out = subprocess.run(['git', 'http-backend'], input=body, env=env, stdout=subprocess.PIPE).stdout
        head, _, content = out.partition(b'\r\n\r\n')
        status, headers = 200, []
        for line in head.decode().split('\r\n'):
            name, _, value = line.partition(': ')
            if name == 'Status': status = int(value.split()[0])
            else: headers.append((name, value))
        self.send_response(status)
        for name, value in headers: self.send_header(name, value)
        self.send_header('Content-Length', str(len(content))); self.end_headers(); self.wfile.write(content)
    do_GET = do_POST = handle_any
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
if len(sys.argv) > 3:
    import ssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3], sys.argv[4])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
"#;

struct Server {
    child: Child,
    port: u16,
    root: TempDir,
}

impl Server {
    /// Starts one; `None`, and says so, where Python is missing.
    fn start() -> Option<Self> {
        Server::start_with(&[])
    }

    /// Starts one that speaks TLS, with this certificate and key, as PEM.
    fn start_tls(certificate: &str, key: &str) -> Option<Self> {
        let files = TempDir::new().unwrap();
        let (one, other) = (files.path().join("cert"), files.path().join("key"));
        std::fs::write(&one, certificate).unwrap();
        std::fs::write(&other, key).unwrap();
        // They are read before it says its port.
        Server::start_with(&[one.to_str().unwrap(), other.to_str().unwrap()])
    }

    fn start_with(words: &[&str]) -> Option<Self> {
        let root = TempDir::new().unwrap();
        let child = Command::new("python3")
            .args(["-c", SERVER, root.path().to_str().unwrap(), TOKEN])
            .args(words)
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else {
            crate::skipped(format_args!("there is no program `python3`"));
            return None;
        };
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap();
        Some(Server { child, port, root })
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the operator has set.
#[derive(Clone, Copy)]
struct Set<'a> {
    allowed: &'a str,
    /// The hosts that the secret is for.
    bound: &'a [&'a str],
    value: &'a str,
}

fn repo(server: &Server, home: &TempDir, set: Set<'_>) -> Repo {
    let address = format!("http://{}/there.git", server.host());
    repo_trusting(server, home, set, &address, "")
}

fn repo_trusting(
    server: &Server,
    home: &TempDir,
    set: Set<'_>,
    address: &str,
    certificates: &str,
) -> Repo {
    let secrets = SecretStore::at(home.path().join("secrets"));
    let name = SecretName::parse("GIT_TOKEN").unwrap();
    let binding = Binding::new(set.bound.iter().copied(), []).unwrap();
    secrets
        .set(&name, &Secret::new(set.value), &binding)
        .unwrap();
    let egress = Egress::new(EgressOptions {
        allowed_hosts: AllowedHosts::parse([set.allowed]).unwrap(),
        certificates: certificates.as_bytes().to_vec(),
        ..EgressOptions::default()
    })
    .unwrap();
    let options = BuiltinOptions {
        git: GitSettings {
            secret: Some("GIT_TOKEN".to_owned()),
            ..GitSettings::default()
        },
        sandbox: SandboxSettings {
            options: SandboxOptions {
                egress: Some(egress.clone()),
                ..SandboxOptions::default()
            },
            ..SandboxSettings::default()
        },
        egress: Some(egress),
        secrets: Some(secrets.clone()),
        ..BuiltinOptions::default()
    };
    let test = agreeing().with(|builder| builder.secrets(secrets));
    let repo = Repo::empty(options, test);
    repo.git(&["init", "--quiet", "--initial-branch=main", "."]);
    repo.write("a", "1\n".repeat(2000));
    repo.commit("first");
    repo.git(&["remote", "add", "origin", address]);
    let there = server.root.path().join("there.git");
    let _ = std::fs::remove_dir_all(&there);
    repo.git(&[
        "init",
        "--quiet",
        "--bare",
        "--initial-branch=main",
        there.to_str().unwrap(),
    ]);
    repo.git_in(&there, &["config", "http.receivepack", "true"]);
    repo
}

#[tokio::test]
async fn a_push_over_http_logs_in_with_the_secret_and_shows_it_nowhere() {
    if !has_git() {
        return;
    }
    let Some(server) = Server::start() else {
        return;
    };
    let host = server.host();
    for value in [TOKEN.to_owned(), format!("me:{TOKEN}")] {
        let home = TempDir::new().unwrap();
        let set = Set {
            allowed: &host,
            bound: &[&host],
            value: &value,
        };
        let repo = repo(&server, &home, set);
        // What the repository names for credentials is neither asked nor told.
        let spy = repo.path().join("spied");
        let helper = format!("!cat >> {}; env >> {}; echo", spy.display(), spy.display());
        repo.git(&["config", "credential.helper", &helper]);
        repo.git(&[
            "config",
            &format!("credential.http://{host}.helper"),
            &helper,
        ]);
        repo.git(&["config", "http.extraHeader", "X-Spy: yes"]);
        repo.git(&["config", "core.askPass", &helper]);
        let outcome = repo.call("git_push", json!({})).await;
        let pushed = outcome
            .value()
            .unwrap_or_else(|| panic!("{:?}", outcome.error()));
        assert!(
            matches!(
                pushed["refs"][0]["status"].as_str(),
                Some("new" | "upToDate")
            ),
            "{pushed}"
        );
        let asked = repo.asked();
        assert!(
            asked.contains(&format!(
                "(http://{host}/there.git), logged in with the secret `GIT_TOKEN`"
            )),
            "{asked}"
        );
        let there = server.root.path().join("there.git");
        assert_eq!(
            repo.git_in(&there, &["log", "--format=%s", "main"]),
            "first"
        );
        assert!(!spy.exists());
        let all = format!(
            "{outcome:?} {:?} {:?}",
            repo.test.asked(),
            repo.test.records()
        );
        assert!(!all.contains("SENTINEL"), "{all}");
    }
}

#[tokio::test]
async fn a_hook_does_not_see_the_secret_nor_the_network() {
    if !has_git() {
        return;
    }
    let Some(server) = Server::start() else {
        return;
    };
    let (host, home) = (server.host(), TempDir::new().unwrap());
    let set = Set {
        allowed: &host,
        bound: &[&host],
        value: TOKEN,
    };
    let repo = repo(&server, &home, set);
    let script = format!(
        "#!/bin/sh\nenv > seen\nif (exec 3<>/dev/tcp/127.0.0.1/{}) 2>/dev/null; then echo REACHED >> seen; fi\nexit 0\n",
        server.port
    );
    repo.write(
        ".git/hooks/pre-push",
        script.replace("/bin/sh", "/bin/bash"),
    );
    use std::os::unix::fs::PermissionsExt as _;
    let hook = repo.path().join(".git/hooks/pre-push");
    std::fs::set_permissions(hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    repo.value("git_push", json!({})).await;
    let seen = repo.read("seen");
    assert!(
        seen.contains("GIT_DIR") && !seen.contains("SENTINEL") && !seen.contains("REACHED"),
        "{seen}"
    );
}

#[tokio::test]
async fn a_password_in_the_address_is_used_and_masked() {
    if !has_git() {
        return;
    }
    let Some(server) = Server::start() else {
        return;
    };
    let (host, home) = (server.host(), TempDir::new().unwrap());
    let set = Set {
        allowed: &host,
        bound: &["git.example.com"],
        value: "another-value",
    };
    let repo = repo(&server, &home, set);
    let outcome = repo.call("git_push", json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::PermissionDenied, "{outcome:?}");
    assert!(message(&outcome).contains("`git.secret`"), "{outcome:?}");
    let address = format!("http://me:{TOKEN}@{host}/there.git");
    repo.git(&["remote", "set-url", "origin", &address]);
    let outcome = repo.call("git_push", json!({})).await;
    assert!(outcome.is_ok(), "{outcome:?}");
    assert!(
        repo.asked()
            .contains("logged in with the password in its address"),
        "{}",
        repo.asked()
    );
    let all = format!(
        "{outcome:?} {:?} {:?}",
        repo.test.asked(),
        repo.test.records()
    );
    assert!(!all.contains("SENTINEL"), "{all}");
}

#[tokio::test]
async fn hosts_and_secrets_that_are_not_for_this_are_refused_before_anything_leaves() {
    if !has_git() {
        return;
    }
    let Some(server) = Server::start() else {
        return;
    };
    let (host, home) = (server.host(), TempDir::new().unwrap());
    // An address of this machine that no one has allowed.
    let set = Set {
        allowed: "example.com",
        bound: &[&host],
        value: TOKEN,
    };
    let refused = repo(&server, &home, set);
    let outcome = refused.call("git_push", json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::HostNotAllowed, "{outcome:?}");
    assert!(refused.test.asked().is_empty());
    // A secret for whomever a repository names.
    let home = TempDir::new().unwrap();
    let set = Set {
        allowed: &host,
        bound: &[],
        value: TOKEN,
    };
    let unbound = repo(&server, &home, set);
    let outcome = unbound.call("git_push", json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::ToolUnavailable, "{outcome:?}");
    assert!(
        message(&outcome).contains(&format!("--host {host}")),
        "{outcome:?}"
    );
    assert!(unbound.test.asked().is_empty());
    // A wrong password is reported as one.
    let home = TempDir::new().unwrap();
    let set = Set {
        allowed: &host,
        bound: &[&host],
        value: "wrong-password",
    };
    let wrong = repo(&server, &home, set);
    let outcome = wrong.call("git_push", json!({})).await;
    assert_eq!(code(&outcome), ErrorCode::PermissionDenied, "{outcome:?}");
    assert!(
        message(&outcome).contains("was not accepted"),
        "{outcome:?}"
    );
    let there = server.root.path().join("there.git");
    assert_eq!(wrong.git_in(&there, &["branch", "--all"]), "");
}

#[tokio::test]
async fn a_push_over_https_trusts_whom_the_settings_name_and_no_one_else() {
    if !has_git() {
        return;
    }
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let Some(server) = Server::start_tls(&certificate, &key) else {
        return;
    };
    let host = format!("localhost:{}", server.port);
    let address = format!("https://{host}/there.git");
    let set = Set {
        allowed: &host,
        bound: &[&host],
        value: TOKEN,
    };
    let home = TempDir::new().unwrap();
    let trusting = repo_trusting(&server, &home, set, &address, &certificate);
    let pushed = trusting.value("git_push", json!({})).await;
    assert_eq!(pushed["refs"][0]["status"], "new", "{pushed}");
    assert_eq!(pushed["url"], address.as_str());
    // A repository cannot have the check switched off.
    let home = TempDir::new().unwrap();
    let wary = repo_trusting(&server, &home, set, &address, "");
    wary.git(&["config", "http.sslVerify", "false"]);
    wary.git(&["config", &format!("http.{address}.sslVerify"), "false"]);
    let outcome = wary.call("git_push", json!({})).await;
    assert!(message(&outcome).contains("certificate"), "{outcome:?}");
    let there = server.root.path().join("there.git");
    assert_eq!(wary.git_in(&there, &["branch", "--all"]), "");
}
