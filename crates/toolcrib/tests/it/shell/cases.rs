//! Cases by hand: ways to hide `rm -rf victim`, everyday commands that must not raise a doubt, and how words, directories and
//! redirections come out.

use toolcrib::shell::{Directory, Part, RedirectKind, Script, Word, read};

fn names(script: &Script) -> Vec<&str> {
    script
        .commands
        .iter()
        .filter_map(|command| command.name())
        .collect()
}

/// Every text runs `rm -rf victim` or might.
const HIDDEN: &[&str] = &[
    "rm -rf victim",
    "\\rm -rf victim",
    "r\"m\" -rf victim",
    "'rm' -rf victim",
    "$'\\x72\\x6d' -rf victim",
    "$'\\162m' -rf victim",
    "/bin/./rm -rf victim",
    "../../bin/rm -rf victim",
    "a=rm; $a -rf victim",
    "a=r; b=m; $a$b -rf victim",
    "a='rm -rf victim'; $a",
    "$(echo rm) -rf victim",
    "`echo rm` -rf victim",
    "$(printf '\\162m') -rf victim",
    "/bin/r? -rf victim",
    "/bin/[r]m -rf victim",
    "{rm,-rf,victim}",
    "rm${IFS}-rf${IFS}victim",
    "IFS=,; a=rm,-rf,victim; $a",
    "eval \"r\"\"m -rf victim\"",
    "eval rm -rf victim",
    "eval $x",
    "eval \"$(cat f)\"",
    "ls\nrm -rf victim",
    "ls\r\nrm -rf victim",
    "ls & rm -rf victim",
    "ls;rm -rf victim",
    "ls&&rm -rf victim",
    "ls||rm -rf victim",
    "ls|rm -rf victim",
    "ls|&rm -rf victim",
    "! rm -rf victim",
    "time rm -rf victim",
    "time -p rm -rf victim",
    "if rm -rf victim; then :; fi",
    "while rm -rf victim; do :; done",
    "for i in $(rm -rf victim); do :; done",
    "case $(rm -rf victim) in esac",
    "case x in $(rm -rf victim)) ;; esac",
    "case x in x) rm -rf victim;; esac",
    "(rm -rf victim)",
    "{ rm -rf victim; }",
    "echo $(rm -rf victim)",
    "echo \"$(rm -rf victim)\"",
    "echo `rm -rf victim`",
    "echo `echo \\`rm -rf victim\\``",
    "echo ${x:-$(rm -rf victim)}",
    "echo ${x/$(rm -rf victim)/}",
    "echo $(( $(rm -rf victim) ))",
    "echo $[ $(rm -rf victim) ]",
    "cat <(rm -rf victim)",
    "ls > >(rm -rf victim)",
    "ls > $(rm -rf victim)",
    "cat <<E\n$(rm -rf victim)\nE",
    "cat <<< $(rm -rf victim)",
    "x=$(rm -rf victim)",
    "a[$(rm -rf victim)]=1",
    "a=([$(rm -rf victim)]=1)",
    "declare a=($(rm -rf victim))",
    "echo ${a[$(rm -rf victim)]}",
    "echo ${a:$(rm -rf victim)}",
    "[[ -f $(rm -rf victim) ]]",
    "[[ x =~ $(rm -rf victim) ]]",
    "((a[$(rm -rf victim)]))",
    "ls() { rm -rf victim; }; ls",
    "function ls { rm -rf victim; }; ls",
    "f() (rm -rf victim); f",
    "coproc rm -rf victim",
    "coproc X { rm -rf victim; }",
    "select x in a; do rm -rf victim; done",
    "until rm -rf victim; do :; done",
    "for ((;;)); do rm -rf victim; done",
    "for ((i=$(rm -rf victim);;)); do :; done",
    "exec rm -rf victim",
    "exec -a x rm -rf victim",
    "command rm -rf victim",
    "command -p rm -rf victim",
    "builtin command rm -rf victim",
    "env rm -rf victim",
    "env -i rm -rf victim",
    "env - rm -rf victim",
    "env -u B A=1 rm -rf victim",
    "env -S 'rm -rf victim'",
    "env -S'rm -rf victim'",
    "env --split-string='rm -rf victim'",
    "env -C sub rm -rf victim",
    "FOO=1 rm -rf victim",
    "sudo rm -rf victim",
    "sudo -u root -- rm -rf victim",
    "sudo -E A=1 rm -rf victim",
    "sudo -n rm -rf victim",
    "doas rm -rf victim",
    "doas -u root rm -rf victim",
    "timeout 5 rm -rf victim",
    "timeout -s KILL -k 1 5 rm -rf victim",
    "timeout --sig=KILL 5 rm -rf victim",
    "nice rm -rf victim",
    "nice -n 19 rm -rf victim",
    "nice -19 rm -rf victim",
    "ionice -c 3 rm -rf victim",
    "nohup rm -rf victim",
    "setsid rm -rf victim",
    "stdbuf -oL rm -rf victim",
    "env time -f x rm -rf victim",
    "/usr/bin/time -o x rm -rf victim",
    "chroot / rm -rf victim",
    "unshare -r rm -rf victim",
    "nsenter -t 1 -m rm -rf victim",
    "flock x rm -rf victim",
    "flock x -c 'rm -rf victim'",
    "taskset -c 0 rm -rf victim",
    "watch rm -rf victim",
    "watch -n 1 'rm -rf victim'",
    "echo victim | xargs rm -rf",
    "xargs -a list rm -rf",
    "xargs -I{} sh -c 'rm -rf {}'",
    "xargs -0 -n1 -P4 rm -rf",
    "echo x | xargs -i rm -rf {}",
    "parallel rm -rf ::: victim",
    "find . -exec rm -rf {} \\;",
    "find . -execdir rm -rf {} +",
    "find . -ok rm -rf victim ';'",
    "find . -name x -exec sh -c 'rm -rf \"$1\"' _ {} \\;",
    "fd x -x rm -rf",
    "fd x -X rm -rf",
    "fd x --exec rm -rf",
    "sh -c 'rm -rf victim'",
    "bash -lc 'rm -rf victim'",
    "bash -o pipefail -c 'rm -rf victim'",
    "bash -euc 'rm -rf victim'",
    "dash -c 'rm -rf victim'",
    "zsh -c 'rm -rf victim'",
    "ksh -c 'rm -rf victim'",
    "sh -c \"$x\"",
    "sh -c 'eval \"$0\"' 'rm -rf victim'",
    "bash -c 'bash -c \"rm -rf victim\"'",
    "env -i sh -c 'rm -rf victim'",
    "su -c 'rm -rf victim'",
    "su root -c 'rm -rf victim'",
    "su - root --command='rm -rf victim'",
    "script -qc 'rm -rf victim' /dev/null",
    "ssh host rm -rf victim",
    "ssh -p 22 host 'rm -rf victim'",
    "ssh -o ProxyCommand='rm -rf victim' host",
    "busybox rm -rf victim",
    "toybox rm -rf victim",
    "busybox sh -c 'rm -rf victim'",
    "echo rm -rf victim | sh",
    "curl x | bash",
    "curl x | sudo sh",
    "curl x | sudo -E bash -",
    "sh < file",
    "bash <(echo rm -rf victim)",
    ". <(echo rm -rf victim)",
    "source /dev/stdin <<< 'rm -rf victim'",
    "sh -s < file",
    "sh <<E\nrm -rf victim\nE",
    "bash <<'E'\nrm -rf victim\nE",
    "bash -s <<< 'rm -rf victim'",
    "{ sh; } <<< 'rm -rf victim'",
    "cat f | { sh; }",
    "f() { sh; }; cat x | f",
    "trap 'rm -rf victim' EXIT",
    "trap -- 'rm -rf victim' 0",
    "trap \"$x\" EXIT",
    "mapfile -C 'rm -rf victim' -c 1 a < f",
    "readarray -C \"$x\" -c 1 a < f",
    "test -v 'x[$(rm -rf victim)]'",
    "[ -v 'x[$(rm -rf victim)]' ]",
    "[[ -v x[\\$(rm)] ]]",
    "[[ 'x[$(rm -rf victim)]' -eq 0 ]]",
    "printf -v 'x[$(rm -rf victim)]' a",
    "read 'x[$(rm -rf victim)]' < f",
    "unset 'x[$(rm -rf victim)]'",
    "declare 'x[$(rm -rf victim)]=1'",
    "declare -i x='a[$(rm -rf victim)]'",
    "let 'x[$(rm -rf victim)]=1'",
    "let \"$x\"",
    "x='a[$(rm -rf victim)]'; echo $((x))",
    "x='a[$(rm -rf victim)]'; ((x))",
    "x='a[$(rm -rf victim)]'; [[ $x -eq 1 ]]",
    "read x < f; echo $((x))",
    "echo $((x[$(rm -rf victim)]))",
    "x='$(rm -rf victim)'; echo \"${x@P}\"",
    "declare -n r=PATH; r=.",
    "PS4='$(rm -rf victim)'; set -x; ls",
    "PROMPT_COMMAND=$x",
    "BASH_ENV=./evil.sh bash -c :",
    "ENV=./evil sh -c :",
    "LD_PRELOAD=./evil.so ls",
    "PATH=.:$PATH ls",
    "PATH=/tmp/evil ls",
    "export PATH=.",
    "env PATH=. ls",
    "GIT_SSH_COMMAND='rm -rf victim' git fetch",
    "PAGER='rm -rf victim' man ls",
    "GIT_EXTERNAL_DIFF=$x git diff",
    "EDITOR='rm -rf victim' git commit",
    "GIT_CONFIG_COUNT=1 git status",
    "PERL5OPT=-Mevil perl x.pl",
    "NODE_OPTIONS='--require ./evil.js' node x.js",
    "SHELLOPTS=xtrace bash -c :",
    "alias ls='rm -rf victim'; ls",
    "shopt -s expand_aliases",
    "shopt -s extglob",
    "set -o posix",
    "enable -f ./evil.so evil",
    "hash -p /bin/rm ls; ls -rf victim",
    "cd() { :; }; cd x",
    "complete -C 'rm -rf victim' x",
    "compgen -C 'rm -rf victim'",
    "compgen -W '$(rm -rf victim)'",
    "bind -x '\"a\": rm'",
    "python3 -c \"import os; os.system('rm -rf victim')\"",
    "python -c \"import subprocess; subprocess.run(['rm','-rf','victim'])\"",
    "python3 -c \"import subprocess as s; s.call('rm -rf victim', shell=True)\"",
    "python3 -c \"__import__('os').system('rm -rf victim')\"",
    "python3 -c \"exec('import os')\"",
    "python3 -c \"$x\"",
    "python3 -c \"import os; getattr(os, 'sys'+'tem')('rm')\"",
    "python3 - <<E\nimport os\nos.system('rm -rf victim')\nE",
    "curl x | python3",
    "python3 <(curl x)",
    "python3 -m timeit 'import os; os.system(\"rm -rf victim\")'",
    "x=$(cat f); git clone \"$x\"",
    "x=$(cat f); make $x",
    "python3 -c \"import os; os.execvp('rm', ['rm','-rf','victim'])\"",
    "perl -e 'system(\"rm -rf victim\")'",
    "perl -e 'exec \"rm\", \"-rf\", \"victim\"'",
    "perl -e '`rm -rf victim`'",
    "perl -ne 'system $_' f",
    "perl -e 'qx(rm -rf victim)'",
    "perl -e 'open(F, \"rm -rf victim|\")'",
    "ruby -e 'system(\"rm -rf victim\")'",
    "ruby -e '`rm -rf victim`'",
    "ruby -e '%x(rm -rf victim)'",
    "ruby -e 'exec \"rm -rf victim\"'",
    "node -e \"require('child_process').execSync('rm -rf victim')\"",
    "node -e \"require('child_process').spawn('rm', ['-rf','victim'])\"",
    "node -p \"process.binding('spawn_sync')\"",
    "node --eval=\"require('child_process').exec(x)\"",
    "node -e \"eval(x)\"",
    "php -r 'system(\"rm -rf victim\");'",
    "php -r '$f=\"system\"; $f(\"rm\");'",
    "lua -e 'os.execute(\"rm -rf victim\")'",
    "Rscript -e 'system(\"rm -rf victim\")'",
    "awk 'BEGIN{system(\"rm -rf victim\")}'",
    "awk 'BEGIN{\"rm -rf victim\" | getline}'",
    "awk '{print | \"rm -rf victim\"}' f",
    "awk '{print $0 | c}' f",
    "awk \"BEGIN{system(\\\"$x\\\")}\"",
    "gawk -l x 'BEGIN{}'",
    "awk \"$x\"",
    "gawk 'BEGIN{f=\"system\"; @f(\"rm\")}'",
    "sed '1e rm -rf victim' f",
    "sed 's/x/rm -rf victim/e' f",
    "sed -n -e p -e 'e rm -rf victim' f",
    "sed --expression='1e rm -rf victim' f",
    "sed \"$x\" f",
    "sed \"s/x/$(cat f)/\" f",
    "gsed 1e f",
    "vim -c '!rm -rf victim' -c q",
    "vim '+!rm -rf victim'",
    "vim -es -c 'call system(\"rm\")'",
    "ex -sc '!rm -rf victim' f",
    "ed f <<< '!rm -rf victim'",
    "tar cf x --checkpoint=1 --checkpoint-action=exec='rm -rf victim' f",
    "tar xf x --to-command='rm -rf victim'",
    "tar xf x --to-com='rm -rf victim'",
    "tar -I 'rm -rf victim' -xf x",
    "tar --use-compress-program='rm -rf victim' -cf x f",
    "tar -cf x -F 'rm -rf victim' f",
    "git -c alias.x='!rm -rf victim' x",
    "git -c core.pager='rm -rf victim' log",
    "git -c core.sshCommand='rm -rf victim' fetch",
    "git -c core.fsmonitor='rm -rf victim' status",
    "git -c core.hooksPath=/tmp/h commit",
    "git -c \"$x\" status",
    "git --exec-path=. status",
    "git --config-env=a=b status",
    "git config alias.x '!rm -rf victim'",
    "git bisect run rm -rf victim",
    "git rebase -x 'rm -rf victim' HEAD~1",
    "git rebase --exec 'rm -rf victim' HEAD~1",
    "git submodule foreach 'rm -rf victim'",
    "git clone 'ext::sh -c rm' x",
    "git clone -c core.sshCommand='rm -rf victim' x",
    "git clone -u 'rm -rf victim' x",
    "git fetch --upload-pack='rm -rf victim' x",
    "git difftool -x 'rm -rf victim'",
    "git grep -O'rm -rf victim' x",
    "git filter-branch --tree-filter 'rm -rf victim' HEAD",
    "rg --pre 'rm' x",
    "rg --pre=rm x",
    "sort --compress-program=rm f",
    "sort --compress-prog rm f",
    "make SHELL='rm -rf victim'",
    "make --eval='x:;rm -rf victim'",
    "make -f - < x",
    "make 'X=$(shell rm -rf victim)'",
    "rsync -e 'rm -rf victim' a b:",
    "rsync --rsh='rm -rf victim' a b:",
    "scp -S rm a b:",
    "man -P 'rm -rf victim' ls",
    "man -aP 'rm -rf victim' ls",
    "sort --co='rm -rf victim' x",
    "bmake --eval='$(shell rm -rf victim)'",
    "split --filter='rm -rf victim' f",
    "zip x f -T -TT 'rm -rf victim'",
    "psql -c '\\! rm -rf victim'",
    "sqlite3 x '.shell rm -rf victim'",
    "sqlite3 x <<E\n.system rm -rf victim\nE",
    "mysql -e '\\! rm -rf victim'",
    "gdb -ex '!rm -rf victim'",
    "tmux new 'rm -rf victim'",
    "expect -c 'exec rm -rf victim'",
    "uv run rm -rf victim",
    "poetry run rm -rf victim",
    "npx -c 'rm -rf victim'",
    "nix-shell --run 'rm -rf victim'",
    "\"$(<file)\"",
    "$x",
    "\"$@\"",
    "${x}",
    "$1",
    "${x:-rm} -rf victim",
    "${!x} -rf victim",
    "$HOME/bin/rm -rf victim",
    "r\\\nm -rf victim",
    "a\\\n=1 rm -rf victim",
    "'",
    "\"",
    "`",
    "$(",
    "${",
    "((",
    "echo $((1",
    "if",
    "cat <<E",
    "rm -rf victim; (",
    "foo )",
    "case x in",
    "f() {",
    "[[ x",
    "a=(",
    "rm \0 -rf victim",
    "x=$(cat f); [ $x ]",
    "echo ${x:=$(rm -rf victim)}",
    "while read l; do rm -rf victim; done < f",
    "time -f x rm",
    "<&-rm -rf victim",
    "ls | ! rm -rf victim",
    "ls | time rm -rf victim",
    "2>{fd}>x",
    "coproc f() { ls; }",
    "FUNCNEST=1",
    "[[ a b ]]",
    "[[ -f ]]",
    "[[ a == ]]",
    "[[ ( a ]]",
    "[[ a && ]]",
    "a=(b)#x rm -rf victim",
    "{ { ls; } > x }",
    "for ((i=0;i<2)); do ls; done",
    "ls {fd}\\\n>x",
    "sudo -s",
    "sudo --weird rm -rf victim",
    "env --weird rm",
    "timeout $x rm -rf victim",
    "sudo $x rm",
    "xargs $x rm",
    "git $x",
    "set $x",
    "export \"$x\"",
    "export $(cat .env)",
    "exec $x",
    "command $x",
    "builtin $x",
    "source $x <(x)",
    "jobs -x rm -rf victim",
    "sh -o posix -c :",
    "bash -i",
    "bash --rcfile x -i",
    "bash --init-file x",
];

#[test]
fn whatever_hides_a_command_is_listed_or_doubted() {
    let missed: Vec<&str> = HIDDEN
        .iter()
        .copied()
        .filter(|text| {
            let script = read(text);
            script.doubts.is_empty() && !names(&script).contains(&"rm")
        })
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

/// Everyday commands, and the names that must come out.
const PLAIN: &[(&str, &str)] = &[
    ("grep -r \"rm -rf\" docs/", "grep"),
    ("echo sudo", "echo"),
    ("git commit -m \"remove dd\"", "git"),
    ("echo \"do not rm -rf /\"", "echo"),
    ("printf \"%s\\n\" add", "printf"),
    ("ls | grep \"dd\"", "ls grep"),
    ("echo \"sudo make me a sandwich\" > note.txt", "echo"),
    ("rm -f build/tmp.o", "rm"),
    ("mkdir -p build && rm -rf build", "mkdir rm"),
    ("npm run format", "npm"),
    ("git log --grep=\"rm -rf\"", "git"),
    ("python3 -c \"print('rm -rf /')\"", "python3"),
    ("rg \"sudo|doas\" src/", "rg"),
    ("test -f a.txt && echo yes", "test echo"),
    ("curl --version", "curl"),
    ("chmod +x build.sh", "chmod"),
    ("echo reboot-required", "echo"),
    ("git status && cargo test -p x | head -5", "git cargo head"),
    ("cd src && ls -la", "cd ls"),
    ("for f in *.rs; do wc -l \"$f\"; done", "wc"),
    ("for f in *.c; do gcc -c $f; done", "gcc"),
    (
        "find . -name '*.py' | xargs grep -n TODO",
        "find xargs grep",
    ),
    ("find . -type f -exec wc -l {} +", "find wc"),
    ("find . -name '*.tmp' -delete", "find"),
    ("sed -i 's/foo/bar/g' src/*.rs", "sed"),
    ("sed -n '10,20p' file", "sed"),
    (
        "find . -print0 | xargs -0 sed -i 's/a/b/'",
        "find xargs sed",
    ),
    ("sed -i 's/a/b/' $(git ls-files)", "git sed"),
    ("make -j$(nproc)", "nproc make"),
    ("sed -e 's/a/b/' -e '/x/d' f", "sed"),
    ("sed -n '/start/,/end/p' f", "sed"),
    ("sed \"s|__HOME__|$HOME|\" f", "sed"),
    ("awk '{print $1}' f", "awk"),
    (
        "awk -F: '/root|admin/ {print $1 \":\" $3}' /etc/passwd",
        "awk",
    ),
    ("awk '{s+=$1} END {print s/NR}' f", "awk"),
    ("sort f | uniq -c | sort -rn | head", "sort uniq sort head"),
    ("make -j4", "make"),
    ("make test CFLAGS=-O2", "make"),
    ("sh ./script.sh", "sh"),
    ("bash script.sh --flag", "bash"),
    ("sh -c 'echo hi'", "sh echo"),
    ("python3 script.py -c x", "python3"),
    ("python -m pytest -x tests", "python"),
    ("python3 -c 'import sys; print(sys.version)'", "python3"),
    ("python3 - <<'E'\nprint('system')\nE", "python3"),
    (
        "python3 -c \"import subprocess; print(subprocess.run(['git', 'log'], capture_output=True).stdout)\"",
        "python3 git",
    ),
    ("node -e \"console.log(1+1)\"", "node"),
    ("node -p 'process.version'", "node"),
    ("node script.js", "node"),
    ("perl -pe 's/a/b/g' f", "perl"),
    ("perl -i -pe 's/a/b/' f", "perl"),
    ("perl -lane 'print $F[0]' f", "perl"),
    ("ruby -e 'puts 1'", "ruby"),
    ("php -r 'echo 1;'", "php"),
    ("env | sort", "env sort"),
    ("FOO=1 BAR=2 cargo test", "cargo"),
    ("RUST_LOG=debug cargo run", "cargo"),
    ("PYTHONPATH=src pytest", "pytest"),
    ("export FOO=bar", "export"),
    ("export PATH=\"$HOME/.cargo/bin:$PATH\"", "export"),
    ("PATH=$PATH:/usr/local/bin foo", "foo"),
    ("GIT_PAGER=cat git log", "cat git"),
    ("PAGER=cat man ls", "cat man"),
    ("git -c core.pager=cat log -3", "git cat"),
    ("git -C sub status", "git"),
    ("git -c user.name=x -c user.email=y commit -m z", "git"),
    ("GIT_EDITOR=true git rebase --continue", "true git"),
    ("git diff HEAD~1 -- src", "git"),
    (
        "git stash && git pull --rebase && git stash pop",
        "git git git",
    ),
    ("timeout 60 cargo test", "timeout cargo"),
    ("timeout \"$T\" cargo test", "timeout cargo"),
    ("time make", "make"),
    ("nohup ./server > log 2>&1 &", "nohup server"),
    ("sudo apt-get install -y x", "sudo apt-get"),
    ("tar xzf x.tar.gz", "tar"),
    ("[[ ! -f a && ( -z \"$B\" || $C != x* ) ]] && ls", "ls"),
    (
        "[[ -n a ]] && [[ a -nt b || a < b ]] && [[ a ]] && ls",
        "ls",
    ),
    ("tar -czf out.tgz dir", "tar"),
    ("tar -xJf x.tar.xz -C /tmp/y", "tar"),
    ("tar --exclude=.git -cf - . | wc -c", "tar wc"),
    ("cat <<'E' > f\n$(rm -rf x)\nE", "cat"),
    ("cat > f <<E\nhello $USER\nE", "cat"),
    ("cat <<-E\n\tx\n\tE", "cat"),
    ("if [ -d x ]; then echo y; else echo z; fi", "[ echo echo"),
    ("[ $? -eq 0 ] && echo ok", "[ echo"),
    ("[[ -n \"$X\" && $Y == a* ]] || exit 1", "exit"),
    ("[[ $X =~ ^v[0-9]+(\\.[0-9]+)*$ ]] && echo v", "echo"),
    (
        "while IFS= read -r line; do echo \"$line\"; done < f",
        "read echo",
    ),
    (
        "i=0; while [ $i -lt 3 ]; do echo $i; i=$((i+1)); done",
        "[ echo",
    ),
    ("for i in {1..3}; do echo $i; done", "echo"),
    ("for i in $(seq 1 5); do echo $i; done", "seq echo"),
    ("for ((i=0; i<3; i++)); do echo $i; done", "echo"),
    ("case $1 in start) ./x;; *) echo usage;; esac", "x echo"),
    (
        "start=$(date +%s); make; echo $(( $(date +%s) - start ))",
        "date make date echo",
    ),
    ("n=$(ls | wc -l); [ $n -gt 3 ] && echo many", "ls wc [ echo"),
    ("f() { echo \"$1\"; }; f x", "echo f"),
    ("set -euo pipefail; ls", "set ls"),
    ("trap 'echo bye' EXIT; ls", "trap echo ls"),
    ("mkdir -p src/{a,b}", "mkdir"),
    ("cp file{,.bak}", "cp"),
    ("echo \"$(date): done\"", "date echo"),
    ("x=\"$(git rev-parse HEAD)\"", "git"),
    ("source venv/bin/activate && pip install x", "source pip"),
    (". ./env.sh", "."),
    ("command -v rustc", "command"),
    ("which ls >/dev/null 2>&1", "which"),
    ("diff <(sort a) <(sort b)", "sort sort diff"),
    ("tee out.log < in", "tee"),
    ("echo 'it'\\''s'", "echo"),
    ("echo a # comment with ' quote", "echo"),
    ("ls \\\n  -la \\\n  src", "ls"),
    ("cargo build 2>&1 | tee log | tail -20", "cargo tee tail"),
    ("xargs -0 rm < list", "xargs rm"),
    ("echo ${HOME:-/root} ${#PATH} ${0##*/}", "echo"),
    ("jq '.a[] | select(.b > 1)' f.json", "jq"),
    ("curl -s https://x | jq .", "curl jq"),
    ("docker run --rm x sh -c 'rm -rf /'", "docker"),
    ("ssh host uptime", "ssh uptime"),
    ("rsync -av a/ b/", "rsync"),
    ("rsync -e 'ssh -p 22' a b:", "rsync ssh"),
    ("sort -k2 -t, f", "sort"),
    ("sort -u -o out in", "sort"),
    ("rg -n --glob '!x' pattern", "rg"),
    ("vim file", "vim"),
    ("less f", "less"),
    ("kill %1; wait", "kill wait"),
    ("echo $((1 + 2 * 3))", "echo"),
    ("((x = 5, y = x * 2)); echo $x", "echo"),
    ("arr=(a b c); echo \"${arr[@]}\" ${arr[1]}", "echo"),
    ("declare -A m; m[x]=1; echo ${m[x]}", "declare echo"),
    ("printf -v x '%s' y", "printf"),
    ("read -r -p 'name? ' name", "read"),
    ("unset FOO", "unset"),
    ("exec 3>&1", "exec"),
    ("exit 0", "exit"),
    ("true && false || :", "true false :"),
    ("cd \"$(git rev-parse --show-toplevel)\" && ls", "git cd ls"),
    ("pushd x >/dev/null && make && popd", "pushd make popd"),
    (
        "NODE_OPTIONS=--max-old-space-size=4096 npm run build",
        "npm",
    ),
    ("uv run pytest -q", "uv pytest"),
    ("npx prettier --check .", "npx prettier"),
    ("bash -n script.sh", "bash"),
    ("bash --version", "bash"),
    ("python3 --version", "python3"),
    ("openssl rand -hex 8", "openssl"),
    ("", ""),
    ("  \n\n# only a comment\n", ""),
    ("~/bin/tool x", "tool"),
    ("head -c 10 /dev/urandom | base64", "head base64"),
    (
        "git log --oneline | while read -r h m; do echo \"$h\"; done",
        "git read echo",
    ),
];

#[test]
fn everyday_commands_raise_no_doubt() {
    let mut wrong = Vec::new();
    for (text, expected) in PLAIN {
        let script = read(text);
        if !script.doubts.is_empty() {
            wrong.push(format!("{text:?}: {:?}", script.doubts));
        }
        let found: Vec<&str> = names(&script);
        if found.join(" ") != *expected {
            wrong.push(format!("{text:?}: {found:?} and not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn only(text: &str) -> toolcrib::shell::SimpleCommand {
    let mut script = read(text);
    assert!(script.doubts.is_empty(), "{:?}", script.doubts);
    script.commands.pop().unwrap()
}

#[test]
fn words_come_out_as_bash_makes_them() {
    let argv = |text: &str| only(text).argv().map(|words| words.join("|"));
    assert_eq!(
        argv("a 'b c' \"d\\\"e\" f\\ g $'h\\ti' ''").as_deref(),
        Some("a|b c|d\"e|f g|h\ti|")
    );
    assert_eq!(argv("x {1}> f").as_deref(), Some("x|{1}"));
    assert_eq!(
        argv("x a{b,c{d,e}}f {1..3} {c..a} {01..3} {} {a} \\{a,b\\}").as_deref(),
        Some("x|abf|acdf|acef|1|2|3|c|b|a|01|02|03|{}|{a}|{a,b}")
    );
    assert_eq!(
        argv("a=1 b='x y'\nc $a $b \"$b\"").as_deref(),
        Some("c|1|x|y|x y")
    );
    let command = only("x $HOME/a \"$TMPDIR\"/b* ~/c $(d) src/*.rs k=~/z");
    let parts: Vec<&[Part]> = command
        .words
        .iter()
        .map(|word| word.parts.as_slice())
        .collect();
    let text = |text: &str| Part::Text(text.to_owned());
    let variable = |name: &str| Part::Variable(name.to_owned());
    let glob = |text: &str| Part::Glob(text.to_owned());
    assert_eq!(
        parts,
        [
            &[text("x")][..],
            &[variable("HOME"), text("/a")],
            &[variable("TMPDIR"), text("/"), glob("b*")],
            &[variable("HOME"), text("/c")],
            &[Part::Dynamic("$(d)".to_owned())],
            &[text("src/"), glob("*.rs")],
            &[text("k="), variable("HOME"), text("/z")],
        ]
    );
    assert!(
        command.words[1].splits
            && !command.words[2].splits
            && !command.words[3].splits
            && command.words[4].splits
    );
    assert_eq!(command.words[5].literal_prefix(), "src/");
    assert_eq!(command.argv(), None);
}

#[test]
fn a_value_counts_only_while_it_is_certain() {
    let last = |text: &str| {
        let commands = read(text).commands;
        let x = commands.iter().rfind(|command| command.name() == Some("x"));
        x.unwrap().words[1].clone()
    };
    assert_eq!(last("a=1; x $a"), Word::text("1"));
    assert_eq!(last("a=1 && x $a"), Word::text("1"));
    assert_eq!(last("a=1; for i in 1 2; do x $a; done"), Word::text("1"));
    for uncertain in [
        "a=1; a=2; x $a",
        "x=1; true && a=1; x $a",
        "if y; then a=1; fi; x $a",
        "a=1 | y; x $a",
        "(a=1); x $a",
        "a=1 & x $a",
        "a=1; f() { a=2; }; f; x $a",
        "a=1; read a; x $a",
        "a=1; eval \"$y\"; x $a",
        "a=1; . ./y; x $a",
        "for a in 1; do x $a; done",
        "a=1; for i in 1; do x $a; a=2; done",
        "a=1; unset a; x $a",
        "a=1 > /no/where; x $a",
        "a+=1; x $a",
        "a[0]=1; x $a",
        "a=(1); x $a",
        "a=1; ((a++)); x $a",
        "a=1; declare -n r=a; r=2; x $a",
        "a=1; printf -v a 2; x $a",
        "f() { x $a; }; a=1",
        "a=1; : ${a:=2}; x $a",
        "RANDOM=1; x $RANDOM",
        "a=1; local a; x $a",
        "a=1; trap 'a=2' DEBUG; x $a",
    ] {
        let word = last(uncertain);
        assert!(word.is_dynamic(), "{uncertain}: {word:?}");
    }
}

#[test]
fn directories_are_known_where_they_are_certain() {
    let place = |text: &str| {
        let script = read(text);
        script
            .commands
            .iter()
            .rfind(|command| command.name() == Some("rm"))
            .unwrap()
            .directory
            .clone()
    };
    let known = |path: &str| Directory::Known(path.to_owned());
    assert_eq!(place("rm x"), Directory::Start);
    assert_eq!(place("cd a && rm x"), known("a"));
    assert_eq!(place("cd a && cd ../b && rm x"), known("b"));
    assert_eq!(place("cd a && cd .. && rm x"), Directory::Start);
    assert_eq!(place("cd .. && rm x"), known(".."));
    assert_eq!(place("cd /a/../b && rm x"), known("/b"));
    assert_eq!(place("(cd / ; rm x)"), known("/"));
    assert_eq!(place("cd a || exit; rm x"), known("a"));
    assert_eq!(place("cd a || { echo no; exit 1; }; rm x"), known("a"));
    assert_eq!(place("set -e; cd a; rm x"), known("a"));
    assert_eq!(place("if cd a; then rm x; fi"), known("a"));
    assert_eq!(place("(cd a); rm x"), Directory::Start);
    assert_eq!(place("echo $(cd a); rm x"), Directory::Start);
    assert_eq!(place("cd a | y; rm x"), Directory::Start);
    assert_eq!(place("env -C a rm x"), known("a"));
    assert_eq!(place("cd b && env -C a rm x"), known("b/a"));
    assert_eq!(place("sudo -D a -C 3 rm x"), known("a"));
    assert_eq!(place("bash -c 'cd a && rm x'"), known("a"));
    assert_eq!(place("cd a || rm x"), Directory::Start);
    assert_eq!(place("cd && rm x"), known("~"));
    assert_eq!(place("cd ~/.ssh && rm x"), known("~/.ssh"));
    assert_eq!(place("cd $HOME/a && cd ../b && rm x"), known("~/b"));
    assert_eq!(place("cd ~ && cd /a && rm x"), known("/a"));
    for uncertain in [
        "cd a; rm x",
        "cd a\nrm x",
        "if y; then cd a; fi; rm x",
        "cd \"$y\" && rm x",
        "cd ~ && cd .. && rm x",
        "cd '~' && rm x",
        "cd a && cd ../~ && rm x",
        "HOME=/y; cd && rm x",
        "cd ~y && rm x",
        "cd - && rm x",
        "y && cd a; rm x",
        "for i in 1 2; do rm x; cd a; done",
        "f() { cd a; }; f; rm x",
        "f() { rm x; }; cd a && f",
        "CDPATH=/y; cd a && rm x",
        "eval 'cd a'; rm x",
        ". ./y; rm x",
        "popd; rm x",
        "command cd a; rm x",
        "while cd a; do rm x; done",
        "case y in y) cd a;; esac; rm x",
        "cd -P a/.. && rm x",
        "chroot /y rm x",
        "trap 'rm x' EXIT",
        "cd a || true; rm x",
        "! cd a && rm x && ! cd b; rm x",
        "find . -execdir rm x \\;",
        "$y; rm x",
        "set -e; y && cd a; rm x",
        "ssh host rm x",
    ] {
        assert_eq!(place(uncertain), Directory::Unknown, "{uncertain}");
    }
}

#[test]
fn redirections_of_groups_count_for_all_in_them() {
    let script = read("{ cd a && b > c; } < d 2>> e >&2 3<&0");
    let command = script
        .commands
        .iter()
        .find(|command| command.name() == Some("b"))
        .unwrap();
    let targets: Vec<_> = command
        .redirects
        .iter()
        .map(|redirect| {
            (
                redirect.kind,
                redirect.target.as_static(),
                &redirect.directory,
            )
        })
        .collect();
    let a = Directory::Known("a".to_owned());
    assert_eq!(
        targets,
        [
            (RedirectKind::Read, Some("d"), &Directory::Start),
            (RedirectKind::Write, Some("e"), &Directory::Start),
            (RedirectKind::Write, Some("c"), &a),
        ]
    );
    for text in [
        "x >f", "x >|f", "x &>f", "x &>>f", "x >&f", "x <>f", "x 2>f", "x {n}>f", ">f",
    ] {
        let script = read(text);
        assert_eq!(
            script.commands[0].redirects[0].kind,
            RedirectKind::Write,
            "{text}"
        );
        assert_eq!(
            script.commands[0].redirects[0].target.as_static(),
            Some("f"),
            "{text}"
        );
    }
}

#[test]
fn wrappers_and_pipes_are_reported() {
    let script = read("cat l | sudo env A=1 nice xargs -n1 rm -f");
    let rm = script.commands.last().unwrap();
    assert_eq!(rm.via, ["sudo", "env", "nice", "xargs"]);
    assert!(rm.piped && !script.commands[0].piped);
    assert_eq!(rm.words.len(), 3, "one more word comes from the input");
    assert_eq!(
        &"cat l | sudo env A=1 nice xargs -n1 rm -f"[rm.span.clone()],
        "sudo env A=1 nice xargs -n1 rm -f"
    );
}

#[test]
fn functions_that_multiply_are_fork_bombs() {
    for bomb in [
        ":(){ :|:& };:",
        "f() { f | f; }; f",
        "f() { f & f & }; f",
        "function f { while true; do f & done; }; f",
        "f() { echo $(f | f); }; f",
    ] {
        assert!(read(bomb).fork_bomb, "{bomb}");
    }
    for harmless in ["f() { f; }; f", "f() { g | h; }; f | f", "ls & ls &"] {
        assert!(!read(harmless).fork_bomb, "{harmless}");
    }
}
