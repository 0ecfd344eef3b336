//! Shows that ordinary programs do not notice the filter.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::process::Command;

use super::super::{Ipc, Sockets, program};
use super::{KINDS, behind};

/// The tightest program.
fn tight() -> Vec<libc::sock_filter> {
    program(Sockets::None, Ipc::Shared)
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn files_threads_pipes_and_mappings_work() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("note");
    behind(&tight(), || {
        std::fs::write(&path, "hello").unwrap();
        std::fs::rename(&path, path.with_extension("txt")).unwrap();
        assert_eq!(
            std::fs::read_to_string(path.with_extension("txt")).unwrap(),
            "hello"
        );

        let (mut reader, mut writer) = std::io::pipe().unwrap();
        let thread = std::thread::spawn(move || writer.write_all(&vec![7; 1 << 20]));
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).unwrap();
        thread.join().unwrap().unwrap();
        assert_eq!(bytes.len(), 1 << 20);
    });
}

#[test]
fn programs_start_and_pipe_into_each_other() {
    for (sockets, ipc) in KINDS {
        behind(&program(sockets, ipc), || {
            output(&mut Command::new("/bin/true"));
            let script =
                "echo one two | tr ' ' '\\n' | sort -r | head -n 1; mkfifo f && rm f; ulimit -n";
            let directory = tempfile::tempdir().unwrap();
            let text = output(
                Command::new("sh")
                    .args(["-c", script])
                    .current_dir(directory.path()),
            );
            assert!(text.starts_with("two\n"), "{text}");
        });
    }
}

#[test]
fn python_threads_subprocesses_and_pools_work() {
    let script = "
import subprocess, threading, socket, multiprocessing, asyncio, resource, tempfile
t = threading.Thread(target=lambda: None); t.start(); t.join()
assert subprocess.check_output(['echo', 'hi']) == b'hi\\n'
a, b = socket.socketpair(); a.send(b'x'); assert b.recv(1) == b'x'
resource.getrlimit(resource.RLIMIT_NOFILE)
async def child():
    p = await asyncio.create_subprocess_exec('true'); return await p.wait()
assert asyncio.run(child()) == 0
with multiprocessing.get_context('fork').Pool(2) as pool: assert pool.map(abs, [-1]) == [1]
try: socket.socket(); print('opened a socket')
except PermissionError: print('ok')
";
    if Command::new("python3").arg("-V").output().is_err() {
        eprintln!("NOT SHOWN: there is no python3 here");
        return;
    }
    behind(&tight(), || {
        assert_eq!(output(Command::new("python3").args(["-c", script])), "ok\n");
    });
}

#[test]
fn the_internet_is_tcp_and_udp_and_nothing_local() {
    let directory = tempfile::tempdir().unwrap();
    behind(&program(Sockets::Internet, Ipc::Own), || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(b"hello").unwrap();
        drop(client);
        let mut text = String::new();
        listener
            .accept()
            .unwrap()
            .0
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "hello");
        UdpSocket::bind("127.0.0.1:0").unwrap();

        let refused = UnixListener::bind(directory.path().join("socket")).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EACCES));
    });
}

#[test]
fn a_stream_pair_works_and_a_datagram_pair_is_refused() {
    for (sockets, ipc) in KINDS {
        behind(&program(sockets, ipc), || {
            let (mut here, mut there) = UnixStream::pair().unwrap();
            here.write_all(b"x").unwrap();
            let mut byte = [0];
            there.read_exact(&mut byte).unwrap();
            assert_eq!(byte, *b"x");
            assert_eq!(
                UnixDatagram::pair().unwrap_err().raw_os_error(),
                Some(libc::EACCES)
            );
        });
    }
}

#[test]
fn an_end_of_a_pair_cannot_be_sent_elsewhere() {
    use std::os::fd::AsRawFd;

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("outside");
    let outside = UnixListener::bind(&path).unwrap();
    outside.set_nonblocking(true).unwrap();
    let mut address = libc::sockaddr_un {
        sun_family: libc::AF_UNIX as u16,
        sun_path: [0; 108],
    };
    for (to, from) in address
        .sun_path
        .iter_mut()
        .zip(path.to_str().unwrap().bytes())
    {
        *to = from as libc::c_char;
    }
    behind(&tight(), || {
        let (here, there) = UnixStream::pair().unwrap();
        drop(there);
        let size = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the descriptor is open and `address` is as long as said.
        let connected =
            unsafe { libc::connect(here.as_raw_fd(), (&raw const address).cast(), size) };
        assert_eq!(connected, -1);
    });
    assert_eq!(
        outside.accept().unwrap_err().kind(),
        std::io::ErrorKind::WouldBlock
    );
}
