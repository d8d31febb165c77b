//! Stored form of prepared executions. Their tool sets lie in records of their own; all else is in this one, so that nothing of it is left
//! when it is removed. It must not know when that is.

use super::{Malformed, PlanRecord, Twin, Word, exchange_id, hash, hash_bytes, id_bytes, required, stored, twin};
use crate::domain::id::{Moment, PreparedId, RunId, ThreadId};
use crate::domain::prepared::{From, Prepared, ThreadThen};
use crate::domain::run::OnDisconnect;
use crate::domain::thread::{OnBusy, Unanswered};
use crate::domain::tool::ToolSet;

stored!(PreparedRecord, twin::Prepared);

/// A prepared execution without its tool sets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PreparedRecord {
    prepared: Prepared,
    /// Its plan.
    pub(crate) plan: PlanRecord,
}

impl PreparedRecord {
    /// Of a prepared execution.
    pub(crate) fn new(prepared: &Prepared) -> Self {
        let plan = PlanRecord::new(&prepared.plan);
        Self { prepared: bare(prepared.clone(), &plan), plan }
    }

    /// The whole, given its sets.
    pub(crate) fn whole(self, offered: ToolSet, standing: ToolSet) -> Prepared {
        Prepared { plan: self.plan.whole(offered, standing), ..self.prepared }
    }

    /// The prepared execution; its tools are absent.
    pub(crate) fn prepared(&self) -> &Prepared {
        &self.prepared
    }
}

/// With the plan as it is without its sets.
fn bare(prepared: Prepared, plan: &PlanRecord) -> Prepared {
    Prepared { plan: plan.clone().whole(ToolSet::default(), ToolSet::default()), ..prepared }
}

impl Twin<PreparedRecord> for twin::Prepared {
    fn of(record: &PreparedRecord) -> Self {
        let prepared = &record.prepared;
        Self {
            id: prepared.id.as_str().to_owned(),
            run_id: prepared.run_id.as_ref().map(|id| id.as_str().to_owned()),
            from: Some(twin::prepared::From::of(&prepared.from)),
            parent: prepared.parent.as_ref().map(id_bytes),
            capture: prepared.capture,
            labels: prepared.labels.clone(),
            on_disconnect: prepared.on_disconnect.number(),
            plan: Some(twin::Plan::of(&record.plan)),
            backend: hash_bytes(&prepared.backend),
            body: hash_bytes(&prepared.body),
            used_by: prepared.used_by.as_ref().map(|id| id.as_str().to_owned()),
            created_at_ms: prepared.created_at.0,
            expires_at_ms: prepared.expires_at.0,
        }
    }

    fn value(self) -> Result<PreparedRecord, Malformed> {
        let plan: PlanRecord = required(self.plan, "plan")?;
        let prepared = Prepared {
            id: PreparedId::new(self.id),
            run_id: self.run_id.map(RunId::new),
            from: required(self.from, "from")?,
            parent: self.parent.map(|id| exchange_id(&id, "parent")).transpose()?,
            capture: self.capture,
            labels: self.labels,
            on_disconnect: OnDisconnect::of_number(self.on_disconnect, "on_disconnect")?,
            plan: plan.clone().whole(ToolSet::default(), ToolSet::default()),
            backend: hash(&self.backend, "backend")?,
            body: hash(&self.body, "body")?,
            used_by: self.used_by.map(RunId::new),
            created_at: Moment(self.created_at_ms),
            expires_at: Moment(self.expires_at_ms),
        };
        Ok(PreparedRecord { prepared, plan })
    }
}

impl Twin<From> for twin::prepared::From {
    fn of(from: &From) -> Self {
        match from {
            From::Root => Self::Root(twin::Nothing {}),
            From::Exchange(id) => Self::Exchange(id_bytes(id)),
            From::Thread(then) => Self::Thread(twin::PreparedThread {
                id: then.id.as_str().to_owned(),
                head: then.head.as_ref().map(id_bytes),
                on_busy: then.on_busy.number(),
                unanswered: then.unanswered.number(),
            }),
        }
    }

    fn value(self) -> Result<From, Malformed> {
        Ok(match self {
            Self::Root(_) => From::Root,
            Self::Exchange(id) => From::Exchange(exchange_id(&id, "from.exchange")?),
            Self::Thread(then) => From::Thread(ThreadThen {
                id: ThreadId::new(then.id),
                head: then.head.map(|id| exchange_id(&id, "from.thread.head")).transpose()?,
                on_busy: OnBusy::of_number(then.on_busy, "from.thread.on_busy")?,
                unanswered: Unanswered::of_number(then.unanswered, "from.thread.unanswered")?,
            }),
        })
    }
}
