//! Verifying what a namespace holds. It must not repair anything.

use tokio::sync::mpsc;

use crate::domain::fault::Fault;
use crate::store::verify::{Event, Finding, Report, verify_namespace, verify_part};

use super::graph::Scope;
use super::{App, Caller, store_fault};

/// What a verification says while it goes on.
pub enum Verified {
    /// More was looked at.
    Progress(Report),
    /// Something is wrong.
    Finding(Finding),
    /// That was all.
    Done(Report, bool),
}

impl App {
    /// Looks at every record of the caller's namespace, or of a part of the graph with all that it needs, and tells what it finds until it is done, has told `max` findings, or nobody listens.
    ///
    /// # Errors
    /// When the store fails. Damage is a finding, not an error.
    pub async fn verify(
        &self,
        caller: &Caller,
        scope: Option<&Scope>,
        max: u32,
        out: &mpsc::Sender<Verified>,
    ) -> Result<(), Fault> {
        let wanted = match scope {
            None => None,
            Some(scope) => {
                self.ledger.complete_indexes(&caller.namespace).await.map_err(store_fault)?;
                self.scope_begin(caller, scope).await?;
                Some([scope.wanted()])
            }
        };
        let (tell, mut told) = mpsc::unbounded_channel();
        let mut on_event = move |event: Event<'_>| {
            let verified = match event {
                Event::Progress(report) => Verified::Progress(report.clone()),
                Event::Finding(finding) => Verified::Finding(finding),
            };
            // Nobody listens once the caller has enough; the verification is dropped then.
            drop(tell.send(verified));
        };
        let stored = self.ledger.unkept();
        let verification = async {
            match &wanted {
                None => verify_namespace(&stored, &caller.namespace, &mut on_event).await,
                Some(wanted) => verify_part(&stored, &caller.namespace, wanted, &mut on_event).await,
            }
        };
        tokio::pin!(verification);
        let (mut findings, mut seen) = (0_u32, Report::default());
        loop {
            let verified = tokio::select! {
                biased;
                Some(verified) = told.recv() => verified,
                report = &mut verification => {
                    let report = report.map_err(store_fault)?;
                    while let Ok(rest) = told.try_recv() {
                        if out.send(rest).await.is_err() {
                            return Ok(());
                        }
                    }
                    drop(out.send(Verified::Done(report, false)).await);
                    return Ok(());
                }
            };
            match &verified {
                Verified::Finding(_) => findings = findings.saturating_add(1),
                Verified::Progress(report) => seen = report.clone(),
                Verified::Done(..) => {}
            }
            if out.send(verified).await.is_err() {
                return Ok(());
            }
            if findings >= max {
                drop(out.send(Verified::Done(seen, true)).await);
                return Ok(());
            }
        }
    }
}
