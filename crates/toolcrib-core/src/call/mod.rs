//! A call as data and as something that runs: what is asked for, what a tool may use, what others see of it.

pub mod context;
pub mod elicit;
pub mod event;
pub mod live;
#[doc(hidden)]
pub mod mask;
pub mod request;
pub(crate) mod waiting_time;
