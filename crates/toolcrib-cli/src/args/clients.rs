//! What `clients` takes.

use clap::Subcommand;
use clap_complete::engine::ArgValueCompleter;

use crate::complete;

#[derive(Debug, Subcommand)]
#[command(after_help = "\
Examples:
  toolcrib clients add assistant                prints its token, only once
  toolcrib clients add ci > ci-token            the token and nothing else
  toolcrib clients list
  toolcrib clients rm assistant                 its next request is refused

With its token a client can list, search and call tools, and see its own calls. Approvals, grants, rules, \
secrets, clients and changes to tools are for the operator, whose token is in the file `token` of Toolcrib's \
home directory. A client can never approve its own call, unless you vouch with `add NAME --elicitation` that \
it asks a person.")]
pub(crate) enum ClientsCommand {
    /// Add a client and print its token (shown once)
    #[command(after_help = "\
Examples:
  TOKEN=$(toolcrib clients add assistant)
  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:7410/tools

Only a digest of the token is kept. If you lose it, remove the client and add it again.

With --elicitation the person using the client is asked about its calls, as well as `toolcrib approvals`. \
Use it only for MCP clients that show questions to a person: their answer counts as that person's.")]
    Add {
        /// Its name: letters, digits, `.`, `_` and `-`
        name: String,
        /// Ask the person using it about its calls, by MCP's elicitation over HTTP
        #[arg(long)]
        elicitation: bool,
    },
    /// List the clients
    List,
    /// Remove clients; their tokens are refused from then on
    Rm {
        /// Their names
        #[arg(required = true, value_name = "NAME", add = ArgValueCompleter::new(complete::clients))]
        names: Vec<String>,
    },
}
