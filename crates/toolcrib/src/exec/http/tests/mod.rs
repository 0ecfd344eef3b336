//! HTTP tools through the whole pipeline, against real servers on loopback.
