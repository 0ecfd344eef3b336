//! Which servers serve a home: one small file each in `state/servers/`, locked while its server lives.
