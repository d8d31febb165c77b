//! Verifying exchanges, their indexes, branches and blocks. It must not know threads or runs.

use bytes::Bytes;

use super::Check;
use super::look::{Look, decode, lean};
use super::turns::InRun;
use crate::domain::exchange::Exchange;
use crate::domain::graph::{BLOCK, Block, Branch, Place, Segment};
use crate::domain::id::{BranchId, CallId, ExchangeId, Hash};
use crate::store::Error;
use crate::store::layout::Entry;
use crate::store::record::Mark;

/// What the next exchange has to agree with.
pub(super) struct Previous {
    place: Place,
    id: ExchangeId,
    turn: u64,
    content_hash: Hash,
    open: Vec<CallId>,
    in_run: InRun,
}

impl Previous {
    fn new(place: Place, exchange: &Exchange, in_run: InRun) -> Self {
        Self {
            in_run,
            place,
            id: exchange.id,
            turn: exchange.turn,
            content_hash: exchange.content_hash,
            open: exchange.assistant.tool_calls().map(|call| call.call_id.clone()).collect(),
        }
    }
}

/// What comes before an exchange.
enum Before {
    Root,
    Exchange(Previous),
    /// Nothing that the exchange could be compared with, for a reason that is reported elsewhere or here.
    Unknown(Option<&'static str>),
}

impl Check<'_> {
    pub(super) async fn exchange(&mut self, place: Place, raw: &Bytes) -> Result<Vec<String>, Error> {
        let previous = self.previous.take();
        let mut lean = match lean(place, raw) {
            Ok(lean) => lean,
            Err(unreadable) => return Ok(vec![unreadable.to_string()]),
        };
        let mut problems = Vec::new();
        for hash in lean.parts().unwrap_or_default() {
            if !self.is_there(&Entry::Part(hash)).await? {
                problems.push(format!("its part {hash} is missing"));
            }
        }
        let exchange = match self.look_exchange(place).await? {
            Look::Found(exchange) => exchange,
            Look::Missing => return Ok(problems),
            Look::Broken => {
                problems.push("it cannot be put together from its record and its parts".to_owned());
                return Ok(problems);
            }
        };
        if exchange.depth != place.depth {
            problems.push(format!("it says that its depth is {}", exchange.depth));
        }
        self.indexed(&mut problems, "id", &Entry::Id(exchange.id), place).await?;
        if exchange.erased.is_none() {
            let by_content = Entry::Content(exchange.content_hash, exchange.id);
            self.indexed(&mut problems, "content", &by_content, place).await?;
        }
        let before = self.before(place, previous).await?;
        self.follows(&mut problems, &exchange, &before);
        let before = match &before {
            Before::Exchange(previous) => Some(&previous.in_run),
            Before::Root | Before::Unknown(_) => None,
        };
        let in_run = InRun::after(before, &exchange);
        self.made_by(&mut problems, &exchange, &in_run).await?;
        if exchange.continues != exchange.parent {
            self.expect_exchange(&mut problems, "the exchange that its run continued,", exchange.continues).await?;
        }
        for set in [exchange.offered, exchange.standing].into_iter().flatten() {
            self.set(&mut problems, set).await?;
        }
        self.lineage(&mut problems, &exchange).await?;
        self.versions(&mut problems, &exchange.workspace).await?;
        self.previous = Some(Previous::new(place, &exchange, in_run));
        Ok(problems)
    }

    fn follows(&self, problems: &mut Vec<String>, exchange: &Exchange, before: &Before) {
        let parent = match before {
            Before::Root => None,
            Before::Exchange(previous) => Some(previous),
            Before::Unknown(problem) => return problems.extend(problem.map(str::to_owned)),
        };
        match (exchange.parent, parent) {
            (Some(said), Some(found)) if said != found.id => {
                problems.push(format!("it says that its parent is {said}, and {} lies before it", found.id));
            }
            (Some(said), None) => problems.push(format!("it says that its parent is {said}, and it lies at a root")),
            (None, Some(found)) => {
                problems.push(format!("it says that it has no parent, and {} lies before it", found.id))
            }
            _ => {}
        }
        if parent.is_some_and(|parent| parent.turn > exchange.turn) {
            problems.push("its turn is before that of its parent".to_owned());
        }
        let (hash, open) = parent.map_or((None, &[][..]), |parent| (Some(&parent.content_hash), &parent.open));
        let is_whole = exchange.erased.is_none();
        if is_whole
            && self.hasher.exchange(hash, open, &exchange.messages, &exchange.assistant) != exchange.content_hash
        {
            problems.push("its content does not have its content hash".to_owned());
        }
    }

    async fn before(&self, place: Place, previous: Option<Previous>) -> Result<Before, Error> {
        if let Some(previous) = previous
            && previous.place.branch == place.branch
            && previous.place.depth + 1 == place.depth
        {
            return Ok(Before::Exchange(previous));
        }
        let branch = match self.look::<Branch>(&Entry::Branch(place.branch)).await? {
            Look::Found(branch) => branch,
            Look::Missing => return Ok(Before::Unknown(Some("its branch is missing"))),
            Look::Broken => return Ok(Before::Unknown(None)),
        };
        let departed = match self.departure(&branch).await? {
            Look::Found(departed) => departed,
            Look::Missing | Look::Broken => return Ok(Before::Unknown(None)),
        };
        let begins = departed.map_or(1, |segment| segment.last + 1);
        if place.depth < begins {
            return Ok(Before::Unknown(Some("it lies before the beginning of its branch")));
        }
        let before = match departed {
            None if place.depth == 1 => return Ok(Before::Root),
            Some(segment) if place.depth == begins => Place { branch: segment.branch, depth: segment.last },
            _ => Place { branch: place.branch, depth: place.depth - 1 },
        };
        Ok(match self.look_exchange(before).await? {
            Look::Found(exchange) => Before::Exchange(Previous::new(before, &exchange, InRun::after(None, &exchange))),
            Look::Missing => Before::Unknown(Some("the exchange before it is missing")),
            Look::Broken => Before::Unknown(None),
        })
    }

    /// Where a branch departed from; none at a root. Missing or broken when that is in a block which is.
    async fn departure(&self, branch: &Branch) -> Result<Look<Option<Segment>>, Error> {
        match (branch.segments.last(), branch.block) {
            (Some(segment), _) => Ok(Look::Found(Some(*segment))),
            (None, None) => Ok(Look::Found(None)),
            (None, Some(block)) => Ok(match self.look::<Block>(&Entry::Block(block)).await? {
                Look::Found(block) => Look::Found(block.segments.last().copied()),
                Look::Missing => Look::Missing,
                Look::Broken => Look::Broken,
            }),
        }
    }

    async fn indexed(&self, problems: &mut Vec<String>, index: &str, entry: &Entry, place: Place) -> Result<(), Error> {
        match self.look::<Place>(entry).await? {
            Look::Found(found) if found == place => {}
            Look::Found(_) => problems.push(format!("the index by {index} names another place for it")),
            Look::Missing => problems.push(format!("the index by {index} does not have it")),
            Look::Broken => {}
        }
        Ok(())
    }

    pub(super) async fn id(&self, id: ExchangeId, raw: &Bytes) -> Result<Vec<String>, Error> {
        self.index(&Entry::Id(id), raw, id, None).await
    }

    pub(super) async fn content(&self, hash: Hash, id: ExchangeId, raw: &Bytes) -> Result<Vec<String>, Error> {
        self.index(&Entry::Content(hash, id), raw, id, Some(hash)).await
    }

    async fn index(
        &self,
        entry: &Entry,
        raw: &Bytes,
        id: ExchangeId,
        hash: Option<Hash>,
    ) -> Result<Vec<String>, Error> {
        let place: Place = match decode(entry, raw) {
            Ok(place) => place,
            Err(unreadable) => return Ok(vec![unreadable.to_string()]),
        };
        let mut problems = Vec::new();
        match self.look_lean(place).await? {
            Look::Found(lean) => {
                if lean.id().is_ok_and(|found| found != id) {
                    problems.push("another exchange lies at the place it names".to_owned());
                } else if let Some(hash) = hash
                    && lean.content_hash().is_ok_and(|found| found != hash)
                {
                    problems.push("the exchange it names has another content hash".to_owned());
                }
            }
            Look::Missing => problems.push("there is nothing at the place it names".to_owned()),
            Look::Broken => {}
        }
        Ok(problems)
    }

    pub(super) async fn departed(&self, after: Place, id: ExchangeId, raw: &Bytes) -> Result<Vec<String>, Error> {
        let entry = Entry::Departure(after, id);
        let mut problems = self.index(&entry, raw, id, None).await?;
        if let Ok(place) = decode::<Place>(&entry, raw)
            && let Look::Found(branch) = self.look::<Branch>(&Entry::Branch(place.branch)).await?
            && let Look::Found(departed) = self.departure(&branch).await?
            && departed != Some(Segment { branch: after.branch, last: after.depth })
        {
            problems.push("the branch of the exchange departs elsewhere".to_owned());
        }
        Ok(problems)
    }

    pub(super) async fn pointer(&self, entry: &Entry, id: ExchangeId, raw: &Bytes) -> Result<Vec<String>, Error> {
        if let Err(unreadable) = decode::<Mark>(entry, raw) {
            return Ok(vec![unreadable.to_string()]);
        }
        let mut problems = Vec::new();
        // The thread may have moved on, or be gone.
        self.expect_exchange(&mut problems, "its exchange", Some(id)).await?;
        Ok(problems)
    }

    pub(super) fn indexes(raw: &Bytes) -> Vec<String> {
        match decode::<Mark>(&Entry::Indexes, raw) {
            Ok(_) => Vec::new(),
            Err(unreadable) => vec![unreadable.to_string()],
        }
    }

    pub(super) async fn branch(&self, id: BranchId, raw: &Bytes) -> Result<Vec<String>, Error> {
        let branch: Branch = match decode(&Entry::Branch(id), raw) {
            Ok(branch) => branch,
            Err(unreadable) => return Ok(vec![unreadable.to_string()]),
        };
        let mut problems = Vec::new();
        if branch.id != id {
            problems.push("it has the id of another branch".to_owned());
        }
        if branch.segments.len() >= BLOCK {
            problems.push("it has segments that belong in a block".to_owned());
        }
        let Some(kept) = self.kept(&mut problems, branch).await? else { return Ok(problems) };
        let begins = kept.segments.last().map_or(1, |segment| segment.last + 1);
        let first = Place { branch: id, depth: begins };
        match self.look_lean(first).await? {
            Look::Missing => problems.push("its first exchange is missing".to_owned()),
            Look::Found(lean) => self.in_index(&mut problems, &kept, lean.id().ok(), first).await?,
            Look::Broken => {}
        }
        self.departs(&mut problems, kept).await?;
        Ok(problems)
    }

    /// A branch that departs is known where it does, once that index is complete.
    async fn in_index(
        &self,
        problems: &mut Vec<String>,
        kept: &Branch,
        id: Option<ExchangeId>,
        first: Place,
    ) -> Result<(), Error> {
        if let (Some(departed), Some(id)) = (kept.segments.last(), id)
            && self.is_there(&Entry::Indexes).await?
        {
            let after = Place { branch: departed.branch, depth: departed.last };
            self.indexed(problems, "departures", &Entry::Departure(after, id), first).await?;
        }
        Ok(())
    }

    /// What a branch keeps of its path when it has not just filled a block, and otherwise the block's; none when that cannot be read.
    async fn kept(&self, problems: &mut Vec<String>, branch: Branch) -> Result<Option<Branch>, Error> {
        let Some(block) = branch.block.filter(|_| branch.segments.is_empty()) else { return Ok(Some(branch)) };
        if block != branch.id {
            problems.push("it ends in a block that another branch filled".to_owned());
        }
        Ok(match self.look::<Block>(&Entry::Block(block)).await? {
            Look::Found(block) => Some(Branch { id: branch.id, block: block.previous, segments: block.segments }),
            Look::Missing => {
                problems.push("its block is missing".to_owned());
                None
            }
            Look::Broken => None,
        })
    }

    /// What a branch keeps must be what its parent keeps and the point of departure. So each path is right when every branch is.
    async fn departs(&self, problems: &mut Vec<String>, mut kept: Branch) -> Result<(), Error> {
        let Some(departed) = kept.segments.pop() else { return Ok(()) };
        if kept.segments.last().is_some_and(|before| before.last >= departed.last) {
            problems.push("the depths of its path do not ascend".to_owned());
        }
        let at = Place { branch: departed.branch, depth: departed.last };
        if !self.is_there(&Entry::Exchange(at)).await? {
            problems.push("there is no exchange at the point where it departs".to_owned());
        }
        match self.look::<Branch>(&Entry::Branch(departed.branch)).await? {
            Look::Found(parent) if parent.segments == kept.segments && parent.block == kept.block => {}
            Look::Found(_) => problems.push("its path is not that of the branch it departs from".to_owned()),
            Look::Missing => problems.push("the branch that it departs from is missing".to_owned()),
            Look::Broken => {}
        }
        Ok(())
    }

    pub(super) async fn block(&self, id: BranchId, raw: &Bytes) -> Result<Vec<String>, Error> {
        let block: Block = match decode(&Entry::Block(id), raw) {
            Ok(block) => block,
            Err(unreadable) => return Ok(vec![unreadable.to_string()]),
        };
        let mut problems = Vec::new();
        if block.id != id {
            problems.push("it has the id of another block".to_owned());
        }
        if block.segments.len() != BLOCK {
            problems.push(format!("it has {} segments instead of {BLOCK}", block.segments.len()));
        }
        if let Some(previous) = block.previous
            && !self.is_there(&Entry::Block(previous)).await?
        {
            problems.push("the block before it is missing".to_owned());
        }
        match self.look::<Branch>(&Entry::Branch(id)).await? {
            Look::Found(branch) if branch.block == Some(id) => {}
            Look::Found(_) => problems.push("the branch that filled it does not name it".to_owned()),
            Look::Missing => problems.push("the branch that filled it is missing".to_owned()),
            Look::Broken => {}
        }
        Ok(problems)
    }
}
