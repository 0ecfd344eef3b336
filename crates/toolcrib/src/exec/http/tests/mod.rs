//! HTTP tools: what becomes of values, and calls through the whole pipeline against real servers on loopback.

mod building;
