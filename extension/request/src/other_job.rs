//! Another request by the means of one that runs.

use message::Request;
use problem::Access;
use session::request_transaction::Scope;

use super::forms::FormContext;
use super::run::Job;

impl Job<'_, '_> {
    /// Another request in the transaction of this one, in a subtransaction, as somebody else.
    pub(super) fn beneath<'n, 'q>(&'n mut self, request: &'n Request<'q>, access: Access) -> Job<'n, 'q> {
        let scope = Scope::Nested { read_only: access == Access::ReadOnly };
        Job { shown: false, ..self.another(request, access, scope) }
    }

    /// Another request by the same means.
    pub(super) fn another<'n, 'q>(
        &'n mut self,
        request: &'n Request<'q>,
        access: Access,
        scope: Scope,
    ) -> Job<'n, 'q> {
        Job {
            request,
            types: self.types,
            identity: self.identity,
            access,
            scope,
            shown: self.shown,
            client: self.client,
            open: self.open,
            receiver: self.receiver,
            preconditions: None,
            guard: None,
            records: false,
            keeps: false,
            called: self.called,
            path_guards: Vec::new(),
            form: FormContext::default(),
        }
    }
}
