//! What an error comes from, where the errors around it only say that it is one of transport. It must not know whose error it is.

/// The first cause: the outermost error only says that it is one of transport.
pub(super) fn innermost<'a>(error: &'a (dyn std::error::Error + 'static)) -> &'a (dyn std::error::Error + 'static) {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause
}
