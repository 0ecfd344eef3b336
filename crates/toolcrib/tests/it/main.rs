//! Tests of the library from outside, as one program: linking is slow and this links once.

mod golden;
mod wire;
