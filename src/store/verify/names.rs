//! Verifying what has a name or is stored under its hash: runs, threads, heads, parts, requests, prepared executions. It must not know branches.

use bytes::Bytes;

use super::Check;
use super::look::{Look, decode};
use crate::domain::graph::Place;
use crate::domain::id::{Hash, PreparedId, RequestId, RunId, ThreadId};
use crate::domain::run::Run;
use crate::domain::thread::Head;
use crate::store::Error;
use crate::store::layout::Entry;
use crate::store::record::{PreparedRecord, Remembered, Standing, ThreadRecord, envelope};

impl Check<'_> {
    pub(super) async fn run(&mut self, id: &RunId, raw: &Bytes) -> Result<Vec<String>, Error> {
        let run: Run = match decode(&Entry::Run(id.clone()), raw) {
            Ok(run) => run,
            Err(unreadable) => return Ok(vec![unreadable.to_string()]),
        };
        let mut problems = Vec::new();
        if run.id != *id {
            problems.push("it has the id of another run".to_owned());
        }
        self.expect_exchange(&mut problems, "its last exchange,", run.exchange).await?;
        self.expect_exchange(&mut problems, "the exchange that it continued,", run.from).await?;
        for step in &run.steps {
            self.expect_exchange(&mut problems, "an exchange whose calls it answered,", Some(step.calling)).await?;
            self.expect_exchange(&mut problems, "an exchange of one of its steps,", step.exchange).await?;
        }
        self.version(&mut problems, run.workspace).await?;
        for past in &run.past {
            self.expect_exchange(&mut problems, "an exchange that was its last one,", past.exchange).await?;
        }
        Ok(problems)
    }

    pub(super) async fn thread(&mut self, id: &ThreadId, raw: &Bytes) -> Result<Vec<String>, Error> {
        let record: ThreadRecord = match decode(&Entry::Thread(id.clone()), raw) {
            Ok(record) => record,
            Err(unreadable) => return Ok(vec![unreadable.to_string()]),
        };
        let mut problems = Vec::new();
        if record.thread().id != *id {
            problems.push("it has the id of another thread".to_owned());
        }
        if !self.is_there(&Entry::Head(id.clone())).await? {
            problems.push("its head is missing".to_owned());
        }
        if let Standing::Set(hash) = record.standing {
            self.set(&mut problems, hash).await?;
        }
        let forked_at = record.thread().parent.as_ref().map(|parent| parent.exchange);
        self.expect_exchange(&mut problems, "the exchange that it was forked at,", forked_at).await?;
        Ok(problems)
    }

    pub(super) async fn head(&self, id: &ThreadId, raw: &Bytes) -> Result<Vec<String>, Error> {
        let head: Head = match decode(&Entry::Head(id.clone()), raw) {
            Ok(head) => head,
            Err(unreadable) => return Ok(vec![unreadable.to_string()]),
        };
        let mut problems = Vec::new();
        if !self.is_there(&Entry::Thread(id.clone())).await? {
            problems.push("its thread is missing".to_owned());
        }
        self.expect_exchange(&mut problems, "the exchange that it points to,", head.exchange).await?;
        self.points_to(&mut problems, &head).await?;
        self.pointed(&mut problems, id, &head).await?;
        Ok(problems)
    }

    /// A head that was put on an exchange is known there, once that index is complete; an exchange that was made on the thread says so itself.
    async fn pointed(&self, problems: &mut Vec<String>, id: &ThreadId, head: &Head) -> Result<(), Error> {
        let Some(exchange) = head.exchange else { return Ok(()) };
        let index = Entry::Pointer(exchange, id.clone());
        if !self.is_there(&Entry::Indexes).await? || self.is_there(&index).await? {
            return Ok(());
        }
        if let Look::Found(place) = self.look::<Place>(&Entry::Id(exchange)).await?
            && let Look::Found(made) = self.look_exchange(place).await?
            && made.thread_id.as_ref() != Some(id)
        {
            problems.push("the index of heads does not have it".to_owned());
        }
        Ok(())
    }

    pub(super) fn part(&self, hash: Hash, raw: &Bytes) -> Vec<String> {
        match envelope::open(&Entry::Part(hash).key(), raw) {
            Ok(bytes) if self.hasher.part(&bytes) == hash => Vec::new(),
            Ok(_) => vec!["its bytes do not have its hash".to_owned()],
            Err(broken) => vec![broken.to_string()],
        }
    }

    pub(super) async fn prepared(&mut self, id: &PreparedId, raw: &Bytes) -> Result<Vec<String>, Error> {
        let record: PreparedRecord = match decode(&Entry::Prepared(id.clone()), raw) {
            Ok(record) => record,
            Err(unreadable) => return Ok(vec![unreadable.to_string()]),
        };
        let prepared = record.prepared();
        let mut problems = Vec::new();
        if prepared.id != *id {
            problems.push("it has the id of another prepared execution".to_owned());
        }
        self.expect_exchange(&mut problems, "the exchange that it goes on from,", prepared.parent).await?;
        if let Some(run) = &prepared.used_by
            && !self.is_there(&Entry::Run(run.clone())).await?
        {
            problems.push(format!("the run that executed it, `{run}`, is not stored"));
        }
        for hash in record.plan.offered.into_iter().chain(record.plan.standing) {
            self.set(&mut problems, hash).await?;
        }
        Ok(problems)
    }

    pub(super) fn request(id: &RequestId, raw: &Bytes) -> Vec<String> {
        match decode::<Remembered>(&Entry::Request(id.clone()), raw) {
            Ok(_) => Vec::new(),
            Err(unreadable) => vec![unreadable.to_string()],
        }
    }
}
