//! Functions of the caller's own, whatever they return: kept as one kind each. Knows nothing of when they are called.

use std::future::Future;

use futures_util::future::BoxFuture;

use crate::coordination::{Action, Continue, Decision, Fail, Stop, Suspend};
use crate::error::BoxError;
use crate::exchange::Delta;
use crate::generation::{Generated, Generation};
use crate::tool::ToolResult;
use crate::tool_call::ToolCall;

/// What a function of the caller's failed with, and of which type that is.
pub(crate) struct Raised {
    pub(crate) cause: BoxError,
    pub(crate) kind: &'static str,
}

impl Raised {
    pub(crate) fn of<E: Into<BoxError>>(own: E) -> Self {
        Self { cause: own.into(), kind: std::any::type_name::<E>() }
    }
}

/// What a callback of [`coordinate`](crate::Client::coordinate) may return: an [`Action`] or one of its kinds, or a result of one, whose error
/// ends the coordination as failed and comes out as itself.
pub trait Verdict: private::Verdict {}
impl<T: private::Verdict> Verdict for T {}

/// What a hook may return: nothing, or a result of nothing.
pub trait Checked: private::Checked {}
impl<T: private::Checked> Checked for T {}

/// What a model of the caller's own may return: a [`Generated`], or a result of one.
pub trait Said: private::Said {}
impl<T: private::Said> Said for T {}

mod private {
    use super::{BoxError, Generated, Raised};
    use crate::coordination::Action;

    pub trait Verdict {
        #[doc(hidden)]
        #[allow(private_interfaces, reason = "sealed")]
        fn verdict(self) -> Result<Action, Raised>;
    }

    #[allow(private_interfaces, reason = "sealed")]
    impl<A: Into<Action>, E: Into<BoxError>> Verdict for Result<A, E> {
        fn verdict(self) -> Result<Action, Raised> {
            self.map(Into::into).map_err(Raised::of)
        }
    }

    pub trait Checked {
        #[doc(hidden)]
        #[allow(private_interfaces, reason = "sealed")]
        fn checked(self) -> Result<(), Raised>;
    }

    #[allow(private_interfaces, reason = "sealed")]
    impl Checked for () {
        fn checked(self) -> Result<(), Raised> {
            Ok(())
        }
    }

    #[allow(private_interfaces, reason = "sealed")]
    impl<E: Into<BoxError>> Checked for Result<(), E> {
        fn checked(self) -> Result<(), Raised> {
            self.map_err(Raised::of)
        }
    }

    pub trait Said {
        #[doc(hidden)]
        #[allow(private_interfaces, reason = "sealed")]
        fn said(self) -> Result<Generated, Raised>;
    }

    #[allow(private_interfaces, reason = "sealed")]
    impl Said for Generated {
        fn said(self) -> Result<Generated, Raised> {
            Ok(self)
        }
    }

    #[allow(private_interfaces, reason = "sealed")]
    impl<E: Into<BoxError>> Said for Result<Generated, E> {
        fn said(self) -> Result<Generated, Raised> {
            self.map_err(Raised::of)
        }
    }
}

macro_rules! verdicts {
    ($($kind:ty),*) => {$(
        #[allow(private_interfaces, reason = "sealed")]
        impl private::Verdict for $kind {
            fn verdict(self) -> Result<Action, Raised> {
                Ok(self.into())
            }
        }
    )*};
}
verdicts!(Action, Continue, Stop, Fail, Suspend);

pub(crate) type NextAction<'a> = Box<dyn FnMut(Decision) -> BoxFuture<'a, Result<Action, Raised>> + Send + 'a>;
pub(crate) type OnDelta<'a> = Box<dyn FnMut(Delta) -> Result<(), Raised> + Send + 'a>;
pub(crate) type Generate<'a> = Box<dyn FnMut(Generation) -> BoxFuture<'a, Result<Generated, Raised>> + Send + 'a>;
pub(crate) type BeforeCall<'a> =
    std::sync::Arc<dyn Fn(ToolCall) -> BoxFuture<'a, Result<(), Raised>> + Send + Sync + 'a>;
pub(crate) type AfterCall<'a> =
    std::sync::Arc<dyn Fn(ToolCall, ToolResult) -> BoxFuture<'a, Result<(), Raised>> + Send + Sync + 'a>;

pub(crate) fn next_action<'a, F, Fut>(mut own: F) -> NextAction<'a>
where
    F: FnMut(Decision) -> Fut + Send + 'a,
    Fut: Future<Output: Verdict> + Send + 'a,
{
    Box::new(move |decision| {
        let deciding = own(decision);
        Box::pin(async move { private::Verdict::verdict(deciding.await) })
    })
}

pub(crate) fn on_delta<'a, R: Checked>(mut own: impl FnMut(Delta) -> R + Send + 'a) -> OnDelta<'a> {
    Box::new(move |delta| private::Checked::checked(own(delta)))
}

pub(crate) fn generate<'a, F, Fut>(mut own: F) -> Generate<'a>
where
    F: FnMut(Generation) -> Fut + Send + 'a,
    Fut: Future<Output: Said> + Send + 'a,
{
    Box::new(move |generation| {
        let saying = own(generation);
        Box::pin(async move { private::Said::said(saying.await) })
    })
}

pub(crate) fn before_call<'a, F, Fut>(own: F) -> BeforeCall<'a>
where
    F: Fn(ToolCall) -> Fut + Send + Sync + 'a,
    Fut: Future<Output: Checked> + Send + 'a,
{
    std::sync::Arc::new(move |call| {
        let checking = own(call);
        Box::pin(async move { private::Checked::checked(checking.await) })
    })
}

pub(crate) fn after_call<'a, F, Fut>(own: F) -> AfterCall<'a>
where
    F: Fn(ToolCall, ToolResult) -> Fut + Send + Sync + 'a,
    Fut: Future<Output: Checked> + Send + 'a,
{
    std::sync::Arc::new(move |call, result| {
        let checking = own(call, result);
        Box::pin(async move { private::Checked::checked(checking.await) })
    })
}
