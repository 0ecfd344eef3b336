//! A client of this server, for the command line and the tests. It dials what the operator names and nothing else; requests of tools go
//! through [`toolcrib::egress`].
