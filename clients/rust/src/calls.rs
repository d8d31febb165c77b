//! Calls that are repeated where that is safe and helps, and lists that are read page by page. Knows nothing of what is asked.

use std::collections::VecDeque;
use std::future::Future;

use futures_util::future::BoxFuture;
use futures_util::stream::Stream;

use crate::error::{Error, Result};
use crate::retry::{Limit, Repeatable, Tries};

/// Makes a call, and makes it again where that helps.
pub(crate) async fn call<Asked, Answer, Make, Made>(limit: Limit, mut asked: Asked, make: Make) -> Result<Answer>
where
    Asked: Repeatable + Clone,
    Make: Fn(tonic::Request<Asked>) -> Made,
    Made: Future<Output = Result<tonic::Response<Answer>, tonic::Status>>,
{
    let mut tries = Tries::new(asked.retry().copied());
    loop {
        let failed = match limit.bound(make(limit.request(asked.clone()))).await? {
            Ok(answer) => return Ok(answer.into_inner()),
            Err(status) => status.into(),
        };
        let wait = tries.pause(failed, asked.retry(), limit)?;
        limit.bound(tokio::time::sleep(wait)).await?;
    }
}

/// The call of a method of a service, as a function of the request.
macro_rules! method {
    ($client:expr, $service:ident.$method:ident) => {{
        let stub = $client.$service();
        move |request| {
            let mut stub = stub.clone();
            async move { stub.$method(request).await }
        }
    }};
}
pub(crate) use method;

/// What a list of one kind is asked for by, and how its pages are read.
macro_rules! pages {
    ($client:expr, $service:ident.$method:ident, try $asked:expr, $items:ident, $read:path) => {
        match $asked {
            Ok(asked) => crate::calls::pages!($client, $service.$method, asked, $items, $read),
            Err(wrong) => crate::calls::Pages::wrong(wrong),
        }
    };
    ($client:expr, $service:ident.$method:ident, $asked:expr, $items:ident, $read:path) => {{
        let client = $client.clone();
        let asked = $asked;
        crate::calls::Pages::new(move |page_token| {
            let mut asked = asked.clone();
            asked.page_token = page_token;
            let stub = crate::calls::method!(client, $service.$method);
            async move {
                let page = crate::calls::call(crate::retry::Limit::default(), asked, stub).await?;
                Ok((page.$items.into_iter().map($read).collect(), page.next_page_token))
            }
        })
    }};
}
pub(crate) use pages;

type Fetch<T> = Box<dyn FnMut(String) -> BoxFuture<'static, Result<(Vec<T>, String)>> + Send>;

/// A list that is read page after page, as it is asked for.
#[must_use]
pub struct Pages<T> {
    fetch: Fetch<T>,
    read: VecDeque<T>,
    /// The token of the next page; nothing after the last.
    token: Option<String>,
}

impl<T> Pages<T> {
    pub(crate) fn new<F, Fut>(mut fetch: F) -> Self
    where
        F: FnMut(String) -> Fut + Send + 'static,
        Fut: Future<Output = Result<(Vec<T>, String)>> + Send + 'static,
    {
        let fetch: Fetch<T> = Box::new(move |token| Box::pin(fetch(token)));
        Self { fetch, read: VecDeque::new(), token: Some(String::new()) }
    }

    /// A list that cannot be asked for.
    pub(crate) fn wrong(error: Error) -> Self
    where
        T: Send + 'static,
    {
        let mut error = Some(error);
        Self::new(move |_| {
            let said = error.take().map_or_else(|| Ok((Vec::new(), String::new())), Err);
            std::future::ready(said)
        })
    }

    /// The next item; nothing after the last.
    pub async fn next(&mut self) -> Option<Result<T>> {
        loop {
            if let Some(item) = self.read.pop_front() {
                return Some(Ok(item));
            }
            let token = self.token.clone()?;
            match (self.fetch)(token).await {
                Ok((items, next)) => {
                    self.read.extend(items);
                    self.token = Some(next).filter(|next| !next.is_empty());
                }
                Err(error) => {
                    self.token = None;
                    return Some(Err(error));
                }
            }
        }
    }

    /// All items that are left.
    ///
    /// # Errors
    /// That of the first page that could not be read.
    pub async fn all(mut self) -> Result<Vec<T>> {
        let mut found = Vec::new();
        while let Some(item) = self.next().await {
            found.push(item?);
        }
        Ok(found)
    }

    /// The same as a stream.
    pub fn into_stream(self) -> impl Stream<Item = Result<T>> {
        futures_util::stream::unfold(self, |mut pages| async move { pages.next().await.map(|item| (item, pages)) })
    }
}
