//! Going down a part of the graph by places alone, each exchange before those that follow from it. It remembers where it is and nothing else,
//! so a page ends anywhere and the next one goes on there; what is above it costs a step an exchange. It must not read what was said.

use super::{missing, part::Part};
use crate::app::{App, store_fault};
use crate::domain::fault::Fault;
use crate::domain::graph::{self, Place, Segment};
use crate::domain::id::{ExchangeId, Namespace};

/// An exchange of the part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::app) struct At {
    /// Its id.
    pub(in crate::app) id: ExchangeId,
    /// Where it lies.
    pub(in crate::app) place: Place,
    /// Where the exchange before it lies; absent for a root.
    pub(in crate::app) parent: Option<Place>,
}

/// What a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::app) enum Step {
    /// An exchange that was not there before.
    Reached,
    /// The exchange before, all below which is done.
    Climbed,
    /// Everything was reached.
    Over,
}

/// Where a descent is.
pub(in crate::app) struct Descent<'a> {
    app: &'a App,
    namespace: &'a Namespace,
    top: Place,
    deepest: u64,
    at: At,
    /// All below it is done.
    is_done: bool,
    /// A path that some of what is above lies on.
    path: Vec<Segment>,
}

impl<'a> Descent<'a> {
    /// From the top of a part, or from an exchange in it on; `is_done` when all that follows from that was reached.
    ///
    /// # Errors
    /// When there is no such exchange.
    pub(in crate::app) async fn begin(
        app: &'a App,
        namespace: &'a Namespace,
        part: &Part,
        from: Option<(ExchangeId, bool)>,
    ) -> Result<Self, Fault> {
        app.index(namespace).await?;
        let (id, is_done) = from.unwrap_or((part.id, false));
        let place = if id == part.id { part.top } else { app.place_of(namespace, id).await? };
        let path = app.path_down_to(namespace, place).await?;
        let at = At { id, place, parent: graph::at_depth(&path, place.depth.saturating_sub(1)) };
        Ok(Self { app, namespace, top: part.top, deepest: part.deepest, at, is_done, path })
    }

    /// Where it is.
    pub(in crate::app) fn at(&self) -> At {
        self.at
    }

    /// Whether all that follows from where it is was reached.
    pub(in crate::app) fn is_done(&self) -> bool {
        self.is_done
    }

    /// One step: down, else to the side, else up.
    ///
    /// # Errors
    /// When the store fails.
    pub(in crate::app) async fn step(&mut self) -> Result<Step, Fault> {
        let At { id, place, parent } = self.at;
        if !self.is_done && place.depth < self.deepest && self.reach(place, None).await? {
            return Ok(Step::Reached);
        }
        let Some(parent) = parent.filter(|_| place != self.top) else {
            self.is_done = true;
            return Ok(Step::Over);
        };
        if self.reach(parent, Some(id)).await? {
            return Ok(Step::Reached);
        }
        if !graph::contains(&self.path, parent) {
            self.path = self.app.path_down_to(self.namespace, parent).await?;
        }
        let id = self.app.ledger.id_at(self.namespace, parent).await.map_err(store_fault)?.ok_or_else(missing)?;
        let above = graph::at_depth(&self.path, parent.depth.saturating_sub(1));
        (self.at, self.is_done) = (At { id, place: parent, parent: above }, true);
        Ok(Step::Climbed)
    }

    /// Goes to the next of what follows from an exchange, if there is one.
    async fn reach(&mut self, parent: Place, after: Option<ExchangeId>) -> Result<bool, Fault> {
        let next = self.app.ledger.children(self.namespace, parent, after, 1).await.map_err(store_fault)?;
        let Some((id, place)) = next.into_iter().next() else { return Ok(false) };
        (self.at, self.is_done) = (At { id, place, parent: Some(parent) }, false);
        Ok(true)
    }
}

impl App {
    /// What is in a part, newest first by the time in the ids, when that is at most so much.
    ///
    /// # Errors
    /// When the store fails.
    pub(in crate::app) async fn all_in(
        &self,
        namespace: &Namespace,
        part: &Part,
        most: usize,
    ) -> Result<Option<Vec<(ExchangeId, Place)>>, Fault> {
        let mut descent = Descent::begin(self, namespace, part, None).await?;
        let mut found = vec![(part.id, part.top)];
        loop {
            match descent.step().await? {
                Step::Reached if found.len() == most => return Ok(None),
                Step::Reached => found.push((descent.at().id, descent.at().place)),
                Step::Climbed => {}
                Step::Over => break,
            }
        }
        found.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(*id));
        Ok(Some(found))
    }
}
