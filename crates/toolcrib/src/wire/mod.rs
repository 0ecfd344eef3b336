//! JSON as other programs want it: provider definitions and result shapes.
