//! From sockets to requests: an accept loop of our own, with caps and deadlines.
