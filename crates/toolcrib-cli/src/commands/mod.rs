//! One file per verb.

mod answer;
mod approvals;
mod bundle;
mod calls;
mod chat;
mod check;
mod clients;
mod completions;
mod config;
mod confirm;
mod connect;
mod doctor;
mod edit;
mod enable;
mod explain;
mod format;
mod grants;
mod held;
mod hook;
mod list;
mod mcp;
mod names;
mod new;
mod notify;
mod notifying;
mod outbound;
mod rm;
mod rules;
mod run;
mod sandbox;
mod sandbox_network;
mod schema;
mod search;
mod secret;
mod serve;
mod show;
mod stats;
mod stored;
mod test;
mod tool_file;
mod trust;
mod ui;
mod upstream;
mod watch;
mod writes;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use toolcrib::answer::AnsweredCall;
use toolcrib::approval::AllowAll;
use toolcrib::crib::{Approvals, NewerHome, ToolRow};
use toolcrib::model::text;
use toolcrib::registry::Availability;
use toolcrib::{Caller, Crib, CribOptions, ErrorCode};

use crate::args::{Cli, Command, Global};
use crate::failure::CliError;
use crate::output::Output;
use crate::prompt::{self, Terminal};
use crate::remote;
use crate::remote::Backend;

pub(crate) type Done = Result<ExitCode, CliError>;

pub(crate) fn dispatch(cli: &Cli, output: &Output) -> Done {
    let global = &cli.global;
    if let Command::Hook(args) = &cli.command {
        return Ok(hook::hook(args, global, output));
    }
    let home = match writes::writes(&cli.command) {
        true => writes::admit(global)?,
        false => None,
    };
    let done = carry_out(cli, output);
    if let Some(home) = home {
        writes::stamp(&home);
    }
    done
}

fn carry_out(cli: &Cli, output: &Output) -> Done {
    let global = &cli.global;
    let backend = || backend(global, output);
    // For what works on files of this machine.
    let here = |verb: &str| remote::refuse(global, &format!("`toolcrib {verb}`"));
    match &cli.command {
        Command::Run(args) => run::run(args, global, output),
        Command::List(args) => list::list(args, &look(global, output)?, output),
        Command::Show(args) => show::show(args, &look(global, output)?, output),
        Command::Search(args) => search::search(args, &look(global, output)?, output),
        Command::Schema(args) => schema::schema(args, &backend()?, output),
        Command::Enable(args) => enable::set_enabled(args, true, &backend()?, output),
        Command::Disable(args) => enable::set_enabled(args, false, &backend()?, output),
        Command::Rm(args) => rm::rm(args, &backend()?, global, output),
        Command::Bundle(command) => bundle::bundle(command, global, output),
        Command::Approvals(command) => approvals::approvals(command, backend()?, global, output),
        Command::Grants(command) => grants::grants(command, &backend()?, global, output),
        Command::Held(command) => held::held(command, &backend()?, global, output),
        Command::Secret(command) => secret::secret(command, global, output),
        Command::Calls(command) => calls::calls(command, &backend()?, global, output),
        Command::Stats(args) => stats::stats(args, global, output),
        Command::Rules(command) => rules::rules(command, global, output),
        Command::Check(args) => check::check(args, global, output),
        // What a code means is the same everywhere.
        Command::Explain(args) if explain::needs_no_home(&args.topic) => {
            explain::explain(args, global, output)
        }
        Command::Explain(args) => {
            here("explain").and_then(|()| explain::explain(args, global, output))
        }
        Command::Clients(command) => clients::clients(command, &backend()?, output),
        Command::Upstream(command) => upstream::upstream(command, &backend()?, global, output),
        Command::Answer(args) => here("answer").and_then(|()| answer::answer(args, global, output)),
        Command::Chat(args) => here("chat").and_then(|()| chat::chat(args, global, output)),
        Command::Config(command) => {
            here("config").and_then(|()| config::config(command, global, output))
        }
        Command::Init(_) => here("init").and_then(|()| new::init(global, output)),
        Command::New(args) => here("new").and_then(|()| new::new(args, global, output)),
        Command::Edit(args) => here("edit").and_then(|()| edit::edit(args, global, output)),
        Command::Test(args) => here("test").and_then(|()| test::test(args, global, output)),
        Command::Watch(args) => here("watch").and_then(|()| watch::watch(args, global, output)),
        Command::Trust(args) => here("trust").and_then(|()| trust::trust(args, global, output)),
        Command::Serve(args) => here("serve").and_then(|()| serve::serve(args, global, output)),
        Command::Ui(args) => here("ui").and_then(|()| ui::ui(args, global, output)),
        Command::Mcp(args) => here("mcp").and_then(|()| mcp::mcp(args, global, output)),
        // It is answered before anything else is looked at: whatever goes wrong has to block.
        Command::Hook(args) => Ok(hook::hook(args, global, output)),
        Command::Connect(args) => {
            here("connect").and_then(|()| connect::connect(args, global, output))
        }
        Command::Sandbox(args) => {
            here("sandbox").and_then(|()| sandbox::sandbox(args, global, output))
        }
        Command::Doctor(args) => here("doctor").and_then(|()| doctor::doctor(args, global, output)),
        Command::Completions(args) => completions::completions(args, output),
        Command::Man(args) => completions::man(args, output),
    }
}

/// What the global flags say about the crib.
fn options(global: &Global) -> CribOptions {
    // Verbs that write have been refused by now.
    let mut options = CribOptions::default().newer_home(NewerHome::Read);
    if let Some(home) = &global.home {
        options = options.home(home);
    }
    if let Some(workspace) = &global.workspace {
        options = options.workspace(workspace);
    }
    if let Some(session) = prompt::session() {
        options = options.session(session);
    }
    options
}

/// The server that was named, or else the home of this machine.
pub(crate) fn backend(global: &Global, output: &Output) -> Result<Backend, CliError> {
    match remote::named(global)? {
        Some(server) => Ok(server),
        None => Backend::here(open(global, output)?),
    }
}

pub(crate) fn open(global: &Global, output: &Output) -> Result<Crib, CliError> {
    opened(options(global), output)
}

/// Opens the crib for who looks at tools.
fn open_to_look(global: &Global, output: &Output) -> Result<Crib, CliError> {
    let crib = open(global, output)?;
    warn_of_store(&crib, output);
    warn_of_files(&crib, output);
    Ok(crib)
}

/// Opens what answers for who looks at tools.
fn look(global: &Global, output: &Output) -> Result<Backend, CliError> {
    let backend = backend(global, output)?;
    if let Some(crib) = backend.crib() {
        warn_of_store(crib, output);
        warn_of_files(crib, output);
    }
    Ok(backend)
}

/// Opens the crib and says what is odd about its settings.
fn opened(options: CribOptions, output: &Output) -> Result<Crib, CliError> {
    let crib = options.open()?;
    output.keep_out(crib.secrets());
    for warning in crib.setting_warnings() {
        let warning = output.with_paths(&warning);
        output.say(&format!("{} {warning}", output.bold("warning:")));
    }
    Ok(crib)
}

/// Says what is odd about the files of tools. For users who look at tools; a caller sees the problems of its tool only.
fn warn_of_files(crib: &Crib, output: &Output) {
    for warning in crib.tool_files().warnings() {
        let warning = text::visible(&warning);
        output.say(&format!("{} {warning}", output.bold("warning:")));
    }
}

/// Says what is wrong with the store as a whole: what is not listed may be there all the same.
fn warn_of_store(crib: &Crib, output: &Output) {
    for warning in crib.store_warnings() {
        let warning = output.with_paths(&warning);
        let warning = text::visible(&warning);
        output.say(&format!("{} {warning}", output.bold("warning:")));
    }
}

/// Says which tools have lost the name that a call uses.
fn warn_of_shadowed(crib: &Crib, tool: &str, output: &Output) {
    let Ok(entry) = crib.registry().find(tool) else {
        return;
    };
    for (below, by) in crib.registry().shadowed() {
        if Arc::ptr_eq(&by, &entry) && entry.spec().name.as_str() == tool {
            let (this, other) = (entry.spec().reference(), below.spec().reference());
            output.say(&output.dim(&format!("`{tool}` is `{this}`, not `{other}`")));
        }
    }
}

/// The approver when a call asks.
enum Answerer {
    /// The person at this terminal, or an answer in the queue.
    Person(Terminal),
    /// An answer in the queue.
    Queue,
    /// No one is asked: approved or refused at once.
    Settled,
}

/// The approver for a call's questions.
fn answerer(global: &Global, yes: bool, wait: Option<Duration>, output: &Output) -> Answerer {
    let terminal = (!yes && !global.no_input)
        .then(|| Terminal::find(output.colours_terminal()))
        .flatten();
    match terminal {
        Some(terminal) => Answerer::Person(terminal),
        None if !yes && wait.is_some() => Answerer::Queue,
        None => Answerer::Settled,
    }
}

/// Why no one can be asked, and what to do about it.
fn nobody_to_ask(global: &Global) -> String {
    let why = if global.no_input {
        "no one was asked, because `--no-input` is set"
    } else {
        "there is no terminal to ask on"
    };
    format!(
        "{why}; pass `--yes` to approve it yourself, or `--wait-approval 5m` to have it answered with `toolcrib approvals`"
    )
}

/// Opens the crib for a call, with an approver.
fn open_to_run(
    global: &Global,
    yes: bool,
    wait: Option<Duration>,
    output: &Output,
) -> Result<(Crib, Answerer), CliError> {
    open_with(global, yes, wait, output, nobody_to_ask(global))
}

/// Like [`open_to_run`], but for calls of a model. The model reads why a call was refused, but not how to approve it itself; the
/// person reads that, from [`tell_of_unasked`].
fn open_for_model(
    global: &Global,
    yes: bool,
    wait: Option<Duration>,
    output: &Output,
) -> Result<(Crib, Answerer), CliError> {
    let why = "no one can be asked here";
    open_with(global, yes, wait, output, why.to_owned())
}

/// Informs the person about calls of a model that no one could be asked about.
fn tell_of_unasked(calls: &[AnsweredCall], global: &Global, output: &Output) {
    let unavailable = ErrorCode::ApprovalUnavailable.as_str();
    if calls
        .iter()
        .any(|call| call.code.as_deref() == Some(unavailable))
    {
        let bold = output.bold("note:");
        let why = nobody_to_ask(global);
        output.say(&format!("{bold} a call needed approval, but {why}"));
    }
}

fn open_with(
    global: &Global,
    yes: bool,
    wait: Option<Duration>,
    output: &Output,
    unasked: String,
) -> Result<(Crib, Answerer), CliError> {
    let options = options(global);
    let answerer = answerer(global, yes, wait, output);
    let options = match &answerer {
        Answerer::Person(_) | Answerer::Queue => options.approvals(Approvals::Queue { wait }),
        Answerer::Settled if yes => options.approver(AllowAll::by("--yes")),
        Answerer::Settled => options.approvals(Approvals::Given { why: unasked }),
    };
    Ok((opened(options, output)?, answerer))
}

/// Why something cannot be called, and what to do about it.
fn reason_of(availability: &Availability) -> Option<String> {
    match availability {
        Availability::Ready => None,
        Availability::Disabled { reason, help } => {
            let help = help.as_ref();
            let help = help.map_or(String::new(), |help| format!("; {help}"));
            Some(format!("{reason}{help}"))
        }
        Availability::Unavailable { reason } => Some(reason.clone()),
    }
}

/// Whether something can be called, in one word.
fn availability_word(availability: &Availability) -> &'static str {
    match availability {
        Availability::Ready => "ready",
        Availability::Disabled { .. } => "disabled",
        Availability::Unavailable { .. } => "unavailable",
    }
}

/// `bundle/slug@version`.
fn reference(row: &ToolRow) -> String {
    format!("{}/{}@{}", row.bundle, row.slug, row.version)
}

/// A slug or reference as it is typed: one that begins with a dash comes behind `--`.
fn word(name: &str) -> String {
    let name = text::visible(name);
    match name.starts_with('-') {
        true => format!("-- {name}"),
        false => name.into_owned(),
    }
}

/// The caller, as a person reads it.
fn caller_word(caller: &Caller) -> String {
    match caller {
        Caller::Library => "a program".to_owned(),
        Caller::Cli => "the command line".to_owned(),
        Caller::Operator => "the operator, through the server".to_owned(),
        Caller::Mcp => "an MCP client".to_owned(),
        Caller::Client(name) => format!("client `{}`", text::visible(name)),
        Caller::ToolFor(caller) => format!("a tool, for {}", caller_word(caller)),
        Caller::Tool => "a tool".to_owned(),
    }
}

/// Limits as a person reads them: `timeout 30 s, 1 MB per text`.
fn in_words(timeout: Duration, max_output_bytes: u64) -> String {
    let shown = format!("{timeout:?}");
    let unit = shown.find(char::is_alphabetic).unwrap_or(shown.len());
    let (number, unit) = shown.split_at(unit);
    format!(
        "timeout {number} {unit}, {} per text",
        text::size(max_output_bytes)
    )
}

/// How many calls may run at the same time, as a person reads it.
fn concurrent_in_words(calls: u32) -> String {
    match calls {
        1 => "1 concurrent call".to_owned(),
        calls => format!("{calls} concurrent calls"),
    }
}
